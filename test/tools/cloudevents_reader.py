"""Reads HTTP messages with the official Python SDK of CloudEvents. Reads a JSON list of {headers, body} and writes a JSON list of events."""

import json
import sys

from cloudevents.core.bindings.http import HTTPMessage, from_http_event


def read(message):
    event = from_http_event(HTTPMessage(message["headers"], message["body"].encode()))
    attributes = {name: str(value) for name, value in event.get_attributes().items()}
    attributes["time"] = event.get_time().isoformat()
    return {"attributes": attributes, "data": event.get_data()}


print(json.dumps([read(message) for message in json.load(sys.stdin)]))
