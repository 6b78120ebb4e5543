#!/usr/bin/env python3
"""Reads the events of a webhook in mode pull, and acknowledges them. Python 3.9 or later without packages.

SALLYPORT_URL, WEBHOOK_ID, CLIENT_ID and CLIENT_SECRET say where and as whom. With FOLLOW=1 it waits for further events. Write your own handle().
"""
import json
import os
import time
import urllib.error
import urllib.request

URL = os.environ["SALLYPORT_URL"].rstrip("/")
RECORDS = f"{URL}/services/api/x/edge/v1/webhooks/{os.environ['WEBHOOK_ID']}"
FOLLOW = os.environ.get("FOLLOW") == "1"
PAUSE_SECONDS, PAUSE_MAX_SECONDS, FAILURES_MAX = 0.5, 30, 16


def handle(message_id, event_type, data):
    """Write this. Once it returns, the event counts as processed. If the program dies before, it gets the event again."""
    print(message_id, event_type, json.dumps(data), flush=True)


def send(url, body=None, token=None):
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as response:
        return json.load(response)


def new_token():
    body = {"clientId": os.environ["CLIENT_ID"], "clientSecret": os.environ["CLIENT_SECRET"],
            "grantType": "client_credentials", "scope": "records:read"}
    return send(f"{URL}/services/api/oauth2/token", body)["access_token"]


class Sender:
    """Repeats what failed for the moment, and asks for another token when one has ended."""

    def __init__(self):
        self.token = None

    def call(self, url, body=None):
        failures, is_new = 0, False
        while True:
            try:
                if self.token is None:
                    self.token, is_new = new_token(), True
                return send(url, body, self.token)
            except urllib.error.HTTPError as error:
                if error.code == 401 and not is_new:
                    self.token = None
                    continue
                if error.code != 429 and error.code < 500:
                    raise
                asked = error.headers.get("Retry-After", "0")
                pause = float(asked) if asked.isdigit() else 0
            except OSError:
                pause = 0
            failures += 1
            if failures >= FAILURES_MAX and not FOLLOW:
                raise SystemExit("the sender cannot be reached")
            time.sleep(min(PAUSE_MAX_SECONDS, max(pause, PAUSE_SECONDS * 2 ** min(failures - 1, 10))))

    def acknowledge(self, through_offset):
        try:
            self.call(f"{RECORDS}/acknowledge", {"throughOffset": through_offset})
        except urllib.error.HTTPError as error:
            # Another reader may be further. Any other refusal, such as a stopped webhook, ends the program.
            details = (json.load(error).get("error") or {}).get("details") or []
            if error.code != 409 or not any(detail["field"] == "throughOffset" for detail in details):
                raise


def main():
    sender = Sender()
    while True:
        part = sender.call(f"{RECORDS}/records?limit=100&wait={30 if FOLLOW else 0}")
        for record in part["records"]:
            headers, (data, *_) = record["value"]["headers"], [
                value for name, value in record["value"].items() if name != "headers"]
            handle(headers["messageId"], headers["eventType"], data)
        if part["throughOffset"] > part["acknowledgedOffset"]:
            sender.acknowledge(part["throughOffset"])
        if not FOLLOW and part["throughOffset"] >= part["newestOffset"]:
            return


if __name__ == "__main__":
    main()
