"""A receiver that verifies with the official Python library of Standard Webhooks. Arguments: certificate, key and secret. Prints its port,
and one line for each message that the library accepts."""

import http.server
import json
import ssl
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

certificate, key, secret = sys.argv[1:]
webhook = Webhook(secret)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            payload = webhook.verify(body, headers)
            print("verified", json.dumps({"id": headers["webhook-id"], "payload": payload}), flush=True)
            status = 204
        except WebhookVerificationError as error:
            print("refused", error, flush=True)
            status = 401
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print("listening on port", server.server_address[1], flush=True)
server.serve_forever()
