"""Verifies deliveries with the official Python library of Standard Webhooks, or with `svix` as argument that of Svix. Reads a JSON list of
{secret, body, headers} and writes a JSON list: null if the library accepts the delivery, otherwise its error."""

import json
import sys

if sys.argv[1:] == ["svix"]:
    from svix.webhooks import Webhook
else:
    from standardwebhooks.webhooks import Webhook


def verify(message):
    try:
        Webhook(message["secret"]).verify(message["body"], message["headers"])
    except Exception as error:
        return str(error) or type(error).__name__
    return None


print(json.dumps([verify(message) for message in json.load(sys.stdin)]))
