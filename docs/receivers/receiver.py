#!/usr/bin/env python3
"""Receives Sallyport's webhooks. Python 3.9 or later without packages; GnuPG for encrypted deliveries.

Only signatures v1a need a package, cryptography: the standard library of Python has no Ed25519.
README.md in this folder has the settings and the order of the checks. Write your own handle().
"""
import base64
import hashlib
import hmac
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import time
import traceback
import zlib
from collections import OrderedDict
from email.utils import formatdate, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The public keys are Ed25519, whpk_ and Base64, and verify signatures v1a.
SECRETS, API_KEYS, PGP_KEYS, PUBLIC_KEYS = (
    [line for line in os.environ.get(name, "").split("\n") if line]
    for name in ("WEBHOOK_SECRETS", "WEBHOOK_API_KEYS", "WEBHOOK_PGP_KEYS", "WEBHOOK_PUBLIC_KEYS"))
if PUBLIC_KEYS:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
TOLERANCE_SECONDS = 300
MAX_BYTES = 4 * 1024 * 1024  # of a body, as received and once it is decoded
MESSAGES_REMEMBERED = 50_000
TIMEOUT_SECONDS = 30


def handle(message_id, event_type, data):
    """Write this. Once it returns, the message counts as handled. If it raises, the sender tries again."""
    print(message_id, event_type, json.dumps(data), flush=True)


# verify:begin
class Refused(Exception):
    def __init__(self, status, code, sentence):
        super().__init__(f"{code}: {sentence}")
        self.status = status


def check(holds, status, code, sentence):
    if not holds:
        raise Refused(status, code, sentence)


AUTHORIZATION = re.compile(
    "HMAC-SHA256 SignedHeaders=([a-z0-9-]+(?:;[a-z0-9-]+){0,15})&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)")


def verify(target, headers, secrets, now):
    """Returns the hash that the body must have. `target` is path and query as sent. Header names are in lower case."""
    authorization = headers.get("authorization")
    check(authorization is not None, 401, "missing_authorization", "Authorization is missing")
    check(authorization.startswith("HMAC-SHA256 "), 401, "wrong_scheme", "the scheme of Authorization is not HMAC-SHA256")
    match = AUTHORIZATION.fullmatch(authorization)
    check(match, 401, "malformed_authorization", "Authorization lacks SignedHeaders=a;b&Signature=c")
    names, signature = match[1].split(";"), match[2]
    check(len(set(names)) == len(names), 401, "malformed_authorization", "SignedHeaders has a name twice")
    # Without the date, old requests could be replayed. Without the hash, bodies could be exchanged.
    for name in ("x-content-sha256", "date"):
        check(name in names, 401, "unsigned_header", f"SignedHeaders lacks {name}")
    for name in names:
        check(name in headers, 401, "missing_header", f"the signed header {name} is missing")
    content_hash = headers["x-content-sha256"]
    check(re.fullmatch("[A-Za-z0-9+/]{43}=", content_hash), 401, "malformed_content_hash",
          "x-content-sha256 is not Base64 of 32 bytes")
    age = int(now) - seconds_of(headers["date"])
    check(age <= TOLERANCE_SECONDS, 401, "stale_date", f"date is {age} s old, {TOLERANCE_SECONDS} s allowed")
    check(age >= -TOLERANCE_SECONDS, 401, "future_date", f"date is {-age} s ahead of this clock, {TOLERANCE_SECONDS} s allowed")
    signed = f"POST\n{target.lower()}\n{';'.join(headers[name] for name in names)}"
    # Compares all of them in constant time, so that the time does not reveal which one matches.
    matches = [hmac.compare_digest(sign(secret, signed), signature) for secret in secrets]
    check(any(matches), 401, "wrong_signature", f"none of the {len(secrets)} secrets signed this path and these headers")
    return content_hash


def sign(secret, message):
    # The key is the decoded secret if it is Base64 with padding, otherwise the bytes of its text.
    is_base64 = len(secret) % 4 == 0 and re.fullmatch("[A-Za-z0-9+/]+={0,2}", secret)
    key = base64.b64decode(secret) if is_base64 else secret.encode()
    return base64.b64encode(hmac.digest(key, message.encode(), "sha256")).decode()


def seconds_of(date):
    try:
        seconds = int(parsedate_to_datetime(date).timestamp())
        # The parser accepts more formats than HTTP allows, but formats only the one of HTTP.
        if formatdate(seconds, usegmt=True) == date:
            return seconds
    except (ValueError, TypeError, IndexError, OverflowError):
        pass
    raise Refused(401, "malformed_date", "date is not as in Sat, 21 Nov 2026 05:00:00 GMT")


def check_hash(body, content_hash):
    """Pass the bytes as received: a body that was parsed and serialized again has another hash."""
    check(base64.b64encode(hashlib.sha256(body).digest()).decode() == content_hash, 400, "wrong_content_hash",
          f"x-content-sha256 does not match the {len(body)} bytes received")
# verify:end


def verify_public(body, headers, public_keys, now):
    """Checks that one of the keys signed id, time and body (Standard Webhooks, v1a). Needs no secret."""
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        check(name in headers, 401, "missing_header", f"{name} is missing")
    timestamp = headers["webhook-timestamp"]
    check(re.fullmatch("[0-9]{1,12}", timestamp), 401, "malformed_timestamp", "webhook-timestamp is not digits only")
    age = abs(int(now) - int(timestamp))
    check(age <= TOLERANCE_SECONDS, 401, "stale_timestamp",
          f"webhook-timestamp differs by {age} s, {TOLERANCE_SECONDS} s allowed")
    message = f"{headers['webhook-id']}.{timestamp}.".encode() + body
    given = [text[4:] for text in headers["webhook-signature"].split() if text.startswith("v1a,")]
    is_signed = any(is_signed_by(key, signature, message) for key in public_keys for signature in given)
    check(is_signed, 401, "wrong_signature", f"none of the {len(public_keys)} public keys signed id, time and body")


def is_signed_by(public_key, signature, message):
    try:
        key = base64.b64decode(re.sub("^whpk_", "", public_key), validate=True)
        Ed25519PublicKey.from_public_bytes(key).verify(base64.b64decode(signature, validate=True), message)
        return True
    except (ValueError, InvalidSignature):
        return False  # no Base64, or no key or signature of Ed25519


def answer_challenge(target, token):
    # Signs only tokens. Otherwise anyone could have any text signed.
    check(re.fullmatch("[A-Za-z0-9_-]{43}", token), 401, "malformed_challenge",
          "x-challenge-sha256 is not 43 characters of Base64url")
    check(SECRETS, 401, "malformed_challenge", "there is no secret to answer a challenge with")
    return sign(SECRETS[0], f"POST{target}{token}")


def read_encoding(headers):
    """Returns the name of the key (None if the body is not encrypted), and whether the body is compressed."""
    encrypted, key_name = headers.get("x-content-encrypted"), headers.get("x-pgp-key-name")
    check(encrypted is None or encrypted == "true" and key_name is not None, 400, "contradicting_headers",
          "x-content-encrypted is not true, or x-pgp-key-name is missing")
    media_type, here, elsewhere = "application/json", "content-encoding", "x-original-encoding"
    if encrypted:
        media_type, here, elsewhere = "application/octet-stream", elsewhere, here
    given = headers.get("content-type", "").split(";")[0].strip().lower()
    check(given == media_type, 400, "unsupported_content_type", f"content-type is not {media_type}")
    check(elsewhere not in headers, 400, "contradicting_headers", f"{elsewhere} contradicts x-content-encrypted")
    check(headers.get(here, "gzip").lower() == "gzip", 400, "unsupported_encoding", f"{here} is not gzip")
    check(not encrypted or PGP_KEYS, 500, "no_decryption", "the body is encrypted and WEBHOOK_PGP_KEYS names no key")
    return key_name if encrypted else None, here in headers


def decode(body, key_name, is_zipped):
    content = body if key_name is None else decrypt(body, key_name)
    content = gunzip(content) if is_zipped else content
    check(len(content) <= MAX_BYTES, 413, "too_large", f"the decoded body has more than the {MAX_BYTES} bytes allowed")
    return content


def decrypt(message, key_name):
    check(key_name in PGP_KEYS, 500, "decryption_failed", f"no private key has the name {key_name!r}")
    # Never asks for a passphrase. The bound is for compressed data inside the PGP message.
    gpg = subprocess.run(["gpg", "--batch", "--no-tty", "--pinentry-mode", "cancel", "--max-output", str(MAX_BYTES + 1),
                          "--status-fd", "2", "--decrypt"], input=message, capture_output=True, timeout=TIMEOUT_SECONDS)
    # GnuPG also outputs messages that were not encrypted, with exit status 0, but then without this line.
    is_decrypted = gpg.returncode == 0 and b"[GNUPG:] DECRYPTION_OKAY" in gpg.stderr.splitlines()
    check(is_decrypted, 500, "decryption_failed", "the PGP message was changed, cut, or is not for a key that is here")
    return gpg.stdout


def gunzip(packed):
    unzip = zlib.decompressobj(wbits=31)
    try:
        content = unzip.decompress(packed, MAX_BYTES + 1)  # of a bomb no more than that is made
        if unzip.eof or len(content) > MAX_BYTES:
            return content
    except zlib.error:
        pass
    raise Refused(400, "malformed_gzip", "the body is not gzip, or is incomplete")


def read_records(body):
    try:
        envelope = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refused(400, "malformed_json", "the body is not JSON in UTF-8") from None
    try:
        text(envelope["subscriptionId"]), text(envelope["sessionId"])
        if not isinstance(envelope["records"], list):
            raise TypeError("records is not a list")
        return [read_record(record["value"]) for record in envelope["records"]]
    except (KeyError, TypeError) as error:
        raise Refused(400, "malformed_envelope", f"the body is JSON of another kind: {error!r}") from None


def read_record(value):
    message_id, event_type = text(value["headers"]["messageId"]), text(value["headers"]["eventType"])
    # The key of the data is the event type in camelCase: employee.created, employeeCreated.
    return message_id, event_type, value[re.sub("[._-]+(.?)", lambda match: match[1].upper(), event_type)]


def text(value):
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


handled, handling = OrderedDict(), threading.Lock()


def handle_once(records):
    # Handles one delivery at a time: after a timeout, the sender may repeat a delivery that is still being handled here.
    with handling:
        for message_id, event_type, data in records:
            if message_id not in handled:
                handle(message_id, event_type, data)
                handled[message_id] = True
                if len(handled) > MESSAGES_REMEMBERED:
                    handled.popitem(last=False)


class Receiver(BaseHTTPRequestHandler):
    protocol_version, timeout, unread = "HTTP/1.1", TIMEOUT_SECONDS, 0

    def do_POST(self):
        status, extra, body = 204, {}, b""
        try:
            status, extra = self.receive()
        except Refused as refused:
            status, body = refused.status, str(refused).encode()
            extra = {401: {"WWW-Authenticate": "HMAC-SHA256"}, 405: {"Allow": "POST"}}.get(status, {})
            print(f"refused: {refused}", file=sys.stderr)
        except Exception:
            status, body = 500, b"failed: see the log of the receiver"  # why is not the sender's business
            traceback.print_exc()
        extra = {**extra, **({} if status == 204 else {"Content-Length": str(len(body))})}
        if status >= 400 or "content-length" not in self.headers:
            extra["Connection"] = "close"
        self.send_response(status)
        for name, value in extra.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        # Reads the rest of the body: to close the connection with unread bytes could discard the answer.
        self.rfile.read(min(self.unread, MAX_BYTES))

    do_GET = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST

    def receive(self):
        headers = {}
        for name, value in ((name.lower(), value) for name, value in self.headers.items()):
            # Joins repeated headers, so that no single value is picked.
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        length = headers.get("content-length", "")
        has_length = re.fullmatch("[0-9]{1,15}", length) and "transfer-encoding" not in headers
        self.unread = length = int(length) if has_length else 0
        check(self.command == "POST", 405, "wrong_method", f"the method is {self.command}, not POST")
        given = headers.get("x-api-key", "").encode()
        is_known = any([hmac.compare_digest(api_key.encode(), given) for api_key in API_KEYS])
        check(is_known, 401, "wrong_api_key", "x-api-key is missing or not the one agreed")
        target = self.requestline.split(" ")[1]  # self.path has lost a second slash at its beginning
        if "x-challenge-sha256" in headers:
            return 200, {"x-challenge-sha256": answer_challenge(target, headers["x-challenge-sha256"])}
        content_hash = verify(target, headers, SECRETS, time.time()) if SECRETS else None
        key_name, is_zipped = read_encoding(headers)
        check(has_length, 411, "length_required", "Content-Length is missing")
        check(length <= MAX_BYTES, 413, "too_large", f"the body has more than the {MAX_BYTES} bytes allowed")
        body, self.unread = self.rfile.read(length), 0
        check(len(body) == length, 400, "body_incomplete", "the connection ended before the body was complete")
        if content_hash is not None:
            check_hash(body, content_hash)
        if PUBLIC_KEYS:
            verify_public(body, headers, PUBLIC_KEYS, time.time())
        handle_once(read_records(decode(body, key_name, is_zipped)))
        return 204, {}

    def log_message(self, *_):
        """Logs only refusals and failures. handle() can log the rest."""


def main():
    if not SECRETS + PUBLIC_KEYS or not API_KEYS:
        sys.exit("WEBHOOK_SECRETS and WEBHOOK_API_KEYS are needed")
    server = ThreadingHTTPServer((os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "3000"))), Receiver)
    if "WEBHOOK_TLS_CERT_FILE" in os.environ:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(os.environ["WEBHOOK_TLS_CERT_FILE"], os.environ.get("WEBHOOK_TLS_KEY_FILE"))
        # The connection's own thread does the handshake, so that a slow one does not delay the others.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(f"listening on port {server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
