#!/usr/bin/env python3
"""Writes test/vectors/requests.json: whole requests to a receiver, valid and invalid, with the expected results.

    python3 scripts/make-vectors.py            writes the file
    python3 scripts/make-vectors.py --check    compares the file with the result

It uses Python's standard library and GnuPG, and none of the project's code, so that the sender and the receiver can both be tested with
it. The result is reproducible: encrypted and compressed bodies, which would differ each time, are taken from the existing file, after a
check of their content.
"""
import base64
import gzip
import hashlib
import hmac
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib
from urllib.parse import urlsplit

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "test" / "vectors"
FILE = VECTORS / "requests.json"
SIGNING = json.loads((VECTORS / "signing.json").read_text("utf-8"))
PRESENT = json.loads(FILE.read_text("utf-8"))

SECRET = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
SECRETS = [SECRET, "not-base64-secret!"]
MANY_SECRETS = [*SECRETS, "abcdefg", "QUJDRA", "abcd", "_-8A", "pässwörd"]
API_KEY = "00112233445566778899aabbccddeeff"
KEY_NAME = "payroll-2026"
MAX_BYTES = 4 * 1024 * 1024
URL = "https://hooks.example.com/hooks/in"
DATE = "Sat, 21 Nov 2026 05:00:00 GMT"
TOKEN = "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA"
OTHER_HASH = base64.b64encode(bytes(32)).decode()

JSON = [("content-type", "application/json")]
GZIP = [*JSON, ("content-encoding", "gzip")]
PGP = [("content-type", "application/octet-stream"), ("x-content-encrypted", "true"), ("x-pgp-key-name", KEY_NAME)]

# The status of a refusal. 401: the sender is not verified. 400: the sender is verified, but the delivery is invalid.
STATUS = {"wrong_method": 405, "too_large": 413, "decryption_failed": 500}
OF_CONTENT = ["contradicting_headers", "unsupported_content_type", "unsupported_encoding", "wrong_content_hash", "malformed_gzip",
              "malformed_json", "malformed_envelope"]

requests = []


# Wire formats.

def key_of(secret):
    strict = len(secret) % 4 == 0 and re.fullmatch("[A-Za-z0-9+/]+={0,2}", secret)
    return base64.b64decode(secret) if strict else secret.encode()


def hmac_base64(secret, message):
    return base64.b64encode(hmac.digest(key_of(secret), message, "sha256")).decode()


def hash_base64(body):
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


def target_of(url):
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def sign(secret, url, values):
    return hmac_base64(secret, f"POST\n{target_of(url).lower()}\n{';'.join(values)}".encode("utf-8"))


def authorization(names, signature):
    return f"HMAC-SHA256 SignedHeaders={';'.join(names)}&Signature={signature}"


def envelope(records):
    return {"subscriptionId": "0193a1f0-0000-7000-8000-000000000001", "sessionId": "0193a1f0-0000-7000-8000-000000000002",
            "attemptNumber": 1, "records": records}


made = 0x100


def record(event_type="order.created", data=None):
    """A record with a unique message id, so that one receiver can get all requests."""
    global made
    message_id, correlation_id = (f"0193a1f0-0000-7000-8000-{made + more:012x}" for more in (0, 0x10000))
    made += 1
    key = re.sub(r"[._-]+(.?)", lambda found: found[1].upper(), event_type)
    headers = {"messageId": message_id, "eventType": event_type, "actorId": None, "correlationId": correlation_id}
    return {"offset": made, "timestamp": "2026-11-21T04:59:59.988Z", "lag": 0.012, "correlationId": correlation_id,
            "value": {"headers": headers, key: {"orderId": made} if data is None else data}}


def read(one):
    """The fields of a record that a receiver hands over."""
    headers = one["value"]["headers"]
    data = next(value for name, value in one["value"].items() if name != "headers")
    return {"messageId": headers["messageId"], "eventType": headers["eventType"], "data": data}


def to_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


# Bodies that differ each time they are made. They are taken from the existing file if their content is still right.

def kept(name, make, holds):
    body = KEPT.get(name)
    return body if body is not None and holds(body) else make()


def stored(content):
    """A gzip with one stored block (RFC 1951 §3.2.4), which is the same on every machine."""
    length = len(content).to_bytes(2, "little")
    block = b"\1" + length + bytes(byte ^ 255 for byte in length) + content
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + block + zlib.crc32(content).to_bytes(4, "little") + length + bytes(2)


def zipped(name, content):
    def holds(body):
        try:
            return gzip.decompress(body) == content
        except (OSError, EOFError, zlib.error):
            return False
    return kept(name, lambda: gzip.compress(content, 9, mtime=0), holds)


def encrypt(name, content, *options, opens=True):
    """`opens` says whether the key of the vectors decrypts it."""
    options = options or ("--recipient", "vector@example.com", "--encrypt")
    make = lambda: gpg("--trust-model", "always", "--compress-algo", "none", *options, given=content).stdout
    return kept(name, make, lambda body: opened(body) == (content if opens else None))


def opened(body):
    """The decrypted content, with or without integrity protection; None if it is not for the key of the vectors."""
    run = gpg("--ignore-mdc-error", "--pinentry-mode", "cancel", "--status-fd", "2", "--decrypt", given=body)
    return run.stdout if b"[GNUPG:] DECRYPTION_KEY" in run.stderr else None


def gpg(*options, given):
    return subprocess.run(["gpg", "--homedir", HOME, "--batch", "--quiet", *options], input=given, capture_output=True)


# Requests.

def add(name, outcome, *, url=URL, method="POST", headers, body, secrets=None, standard=False):
    request = {"name": name, "url": url, "method": method, "headers": headers}
    request["bodyBase64"] = base64.b64encode(body).decode()
    if secrets is not None:
        request["secrets"] = secrets
    if standard:
        request["standardWebhooks"] = True
    if "refused" in outcome:
        code = outcome["refused"]
        outcome = {"refused": code, "status": STATUS.get(code, 400 if standard or code in OF_CONTENT else 401)}
    requests.append({**request, **outcome})


def delivery(name, refused=None, *, records=None, body=None, secret=SECRET, url=URL, date=DATE, custom=(), content=JSON,
             order=None, signature=None, change=(), more=(), sent_body=None, reverse=False, handled=None, **rest):
    """A delivery as the service sends it, with changes. `change` replaces headers after signing; `more` adds headers."""
    if records is None:
        records = [record()] if refused is None else []
    body = to_json(envelope(records)) if body is None else body
    values = {"x-content-sha256": hash_base64(body), "date": date, **{name.lower(): value for name, value in custom}}
    names = list(values) if order is None else order
    signed = sign(secret, url, [values.get(name, "") for name in names]) if signature is None else signature
    headers = [("x-api-key", API_KEY), *content, ("x-content-sha256", values["x-content-sha256"]), ("date", date),
               ("authorization", authorization(names, signed)), *custom]
    changed = dict(change)
    headers = [(name, changed.get(name.lower(), value)) for name, value in headers]
    headers = [pair for pair in headers if pair[1] is not None] + list(more)
    if refused is None:
        handed = [read(one) for one in records] if handled is None else handled
        outcome = {"records": handed, "secretIndex": MANY_SECRETS.index(secret)}
    else:
        outcome = {"refused": refused}
    if secret in MANY_SECRETS and secret not in SECRETS:
        rest["secrets"] = MANY_SECRETS
    add(name, outcome, url=url, headers=headers[::-1] if reverse else headers, body=body if sent_body is None else sent_body, **rest)


def challenge(name, refused=None, *, url=URL, secret=SECRET, token=TOKEN, change=(), more=()):
    headers = [("x-api-key", API_KEY), *JSON, ("x-challenge-sha256", token)]
    headers = [(name, dict(change).get(name, value)) for name, value in headers] + list(more)
    answer = hmac_base64(secret, f"POST{target_of(url)}{token}".encode("utf-8"))
    add(name, {"answer": answer} if refused is None else {"refused": refused}, url=url, headers=headers,
        body=to_json({"type": "endpoint.challenge", "endpointId": "0193a1f0-0000-7000-8000-000000000009"}),
        secrets=None if secret == SECRET else [secret])


def from_signing():
    """The known answers of signing.json: each unchanged, then with a complete delivery as the body."""
    for known in SIGNING["delivery"]:
        body = base64.b64decode(known["bodyBase64"])
        custom = [(header["name"], header["value"]) for header in known["customHeaders"]]
        names = ["x-content-sha256", "date", *(name.lower() for name, _ in custom)]
        values = [hash_base64(body), known["date"], *(value for _, value in custom)]
        agrees = authorization(names, sign(known["secret"], known["url"], values)) == known["authorization"]
        assert agrees and key_of(known["secret"]).hex() == known["keyHex"], known["name"]
        of = {"url": known["url"], "secret": known["secret"], "date": known["date"], "custom": custom}
        is_object = body.startswith(b"{")
        # The signature is valid, so that only the content is refused.
        delivery(f"signing.json, {known['name']}", "malformed_envelope" if is_object else "malformed_json", body=body, **of)
        if is_object:
            delivery(f"a whole delivery, {known['name']}", **of)
    for known in SIGNING["challenge"]:
        assert hmac_base64(known["secret"], known["message"].encode()) == known["signature"], known["name"]
        challenge(f"a challenge, {known['name']}", url=known["url"], secret=known["secret"], token=known["token"])


def accepted():
    delivery("plain", records=[record(data={"orderId": 42, "note": "Zoë"})])
    two = [record("order.created"), record("order_line.price-changed")]
    body = zipped("two records, gzip, a custom header, upper case in path and query", to_json(envelope(two)))
    delivery("two records, gzip, a custom header, upper case in path and query", records=two, body=body, content=GZIP,
             url="https://hooks.example.com/Hooks/In?Tenant=ACME", custom=[("X-Tenant", "acme")])
    delivery("a heartbeat", records=[])
    delivery("signed with the second secret, which is text", secret=SECRETS[1])
    delivery("data of every kind", records=[
        record("a.list", [1, -2.5, True, None, "€ 𝄞 \u2028 \"\\\n"]), record("a.text", ""), record("a.null-value", {"none": None})])
    twice = record()
    delivery("a message twice in one delivery", records=[twice, twice], handled=[read(twice)])
    delivery("header names in upper case", more=[("X-UNSIGNED", "1")], custom=[("X-TENANT", "acme")])
    delivery("headers in another order", custom=[("X-Tenant", "acme"), ("X-Region", "eu")], reverse=True)
    delivery("signed in another order", custom=[("X-Tenant", "acme")], order=["x-tenant", "date", "x-content-sha256"])
    delivery("a charset in content-type", content=[("content-type", "Application/JSON; charset=utf-8")])
    name = "an encoding in upper case"
    one = record()
    delivery(name, records=[one], body=zipped(name, to_json(envelope([one]))), content=[*JSON, ("content-encoding", "GZIP")])
    delivery("two slashes at the beginning of the path", url="https://hooks.example.com//In/?next=/a?b")
    delivery("300 seconds old", date="Sat, 21 Nov 2026 04:55:00 GMT")
    delivery("300 seconds ahead", date="Sat, 21 Nov 2026 05:05:00 GMT")


def encrypted():
    data = {"userId": "0193a1f0-0000-7000-8000-00000000e001", "lastName": "Zoë"}
    one = record("employee.created", data)
    plain = to_json(envelope([one]))
    body = encrypt("PGP", plain)
    delivery("PGP", records=[one], body=body, content=PGP)
    delivery("a PGP message that is cut", "decryption_failed", body=body[:-21], content=PGP)
    changed = body[:-30] + bytes([body[-30] ^ 1]) + body[-29:]
    delivery("a PGP message with a changed byte", "decryption_failed", body=changed, content=PGP)
    other_name = [*PGP[:2], ("x-pgp-key-name", "other")]
    delivery("a PGP message for a key of another name", "decryption_failed", body=body, content=other_name)

    other = record("employee.created", data)
    both = [*PGP, ("x-original-encoding", "gzip")]
    packed = encrypt("gzip, then PGP", stored(to_json(envelope([other]))))
    delivery("gzip, then PGP", records=[other], body=packed, content=both)
    delivery("no gzip within PGP where one is announced", "malformed_gzip", body=body, content=both)

    for name, opens, options in [
        ("a PGP message for somebody else", False, ["--recipient-file", VECTORS / "pgp" / "curve25519.public.asc", "--encrypt"]),
        # GnuPG outputs the content of these two: with exit status 0, and in old versions with only a warning.
        ("a PGP message that is not encrypted", False, ["--store"]),
        ("a PGP message without integrity protection", True, ["--rfc2440", "--recipient", "vector@example.com", "--encrypt"]),
        # A receiver must not wait for a passphrase.
        ("a PGP message for a passphrase", False, ["--passphrase", "x", "--pinentry-mode", "loopback", "--symmetric"]),
    ]:
        delivery(name, "decryption_failed", body=encrypt(name, plain, *options, opens=opens), content=PGP)
    delivery("no PGP message where one is announced", "decryption_failed", content=PGP)

    delivery("x-content-encrypted: false", "contradicting_headers", content=[*JSON, ("x-content-encrypted", "false")])
    delivery("encrypted without the name of the key", "contradicting_headers", body=body, content=PGP[:2])
    delivery("content-encoding with encryption", "contradicting_headers", body=body, content=[*PGP, ("content-encoding", "gzip")])
    delivery("x-original-encoding without encryption", "contradicting_headers", content=[*JSON, ("x-original-encoding", "gzip")])
    delivery("JSON by its type, but encrypted", "unsupported_content_type", body=body, content=[*JSON, *PGP[1:]])
    delivery("octets that are not encrypted", "unsupported_content_type", content=PGP[:1])


def wrong_sender():
    delivery("PUT", "wrong_method", method="PUT")
    for what, key in [("another API key", "f" * 32), ("an API key that is cut", API_KEY[:-1]), ("an empty API key", ""),
                      ("an API key that is not ASCII", "ë" * 32), ("no API key", None)]:
        delivery(what, "wrong_api_key", change=[("x-api-key", key)])
    delivery("the API key twice", "wrong_api_key", more=[("x-api-key", API_KEY)])
    challenge("a challenge with another API key", "wrong_api_key", change=[("x-api-key", "f" * 32)])
    for what, token in [("a challenge that is not ASCII", "ë" * 43), ("an empty challenge", "")]:
        challenge(what, "malformed_challenge", token=token)
    challenge("a challenge twice", "malformed_challenge", more=[("x-challenge-sha256", TOKEN)])


def wrong_authorization():
    delivery("no Authorization", "missing_authorization", change=[("authorization", None)])
    for what, value in [("a bearer token", "Bearer abc"), ("an empty Authorization", ""), ("the scheme alone", "HMAC-SHA256"),
                        ("the scheme in lower case", authorization(["x-content-sha256", "date"], OTHER_HASH).lower())]:
        delivery(what, "wrong_scheme", change=[("authorization", value)])
    signed = ["x-content-sha256", "date"]
    for what, names, signature in [
        ("a signature of 31 bytes", signed, base64.b64encode(bytes(31)).decode()),
        ("a signature of 33 bytes", signed, base64.b64encode(bytes(33)).decode()),
        ("a signature that is cut", signed, OTHER_HASH[:-1]),
        ("a signature in Base64url", signed, "_" + OTHER_HASH[1:]),
        ("a signature in hexadecimal", signed, "0" * 64),
        ("a signature with bits that no byte has", signed, OTHER_HASH[:-2] + "B="),
        ("a signature that is not ASCII", signed, "ë" * 43 + "="),
        ("no signature", signed, ""),
        ("no signed headers", [""], OTHER_HASH),
        ("signed headers in upper case", ["X-Content-Sha256", "Date"], OTHER_HASH),
        ("signed headers with spaces", ["x-content-sha256", " date"], OTHER_HASH),
        ("signed headers that are not ASCII", [*signed, "x-tënant"], OTHER_HASH),
        ("a header signed twice", [*signed, "date"], OTHER_HASH),
    ]:
        delivery(what, "malformed_authorization", change=[("authorization", authorization(names, signature))])
    once = authorization(signed, OTHER_HASH)
    delivery("Authorization twice", "malformed_authorization", more=[("authorization", once)])
    delivery("something after the signature", "malformed_authorization", change=[("authorization", f"{once}&more=1")])
    delivery("the date is not signed", "unsigned_header", order=["x-content-sha256"])
    delivery("the content hash is not signed", "unsigned_header", order=["date"])
    delivery("a signed header is missing", "missing_header", custom=[("x-tenant", "acme")], change=[("x-tenant", None)])
    delivery("the date is missing", "missing_header", change=[("date", None)])
    delivery("the content hash is missing", "missing_header", change=[("x-content-sha256", None)])


def wrong_signature():
    delivery("a signature of other bytes", "wrong_signature", signature=OTHER_HASH)
    delivery("signed with a secret that is not known", "wrong_signature", secret="another")
    hashed = hash_base64(to_json(envelope([])))
    as_text = hmac.digest(SECRET.encode(), f"POST\n/hooks/in\n{hashed};{DATE}".encode(), "sha256")
    delivery("signed with the letters of a secret in Base64", "wrong_signature", records=[],
             signature=base64.b64encode(as_text).decode())
    as_sent = hmac_base64(SECRET, f"POST\n/Hooks/In\n{hashed};{DATE}".encode())
    delivery("signed with the path as it was sent", "wrong_signature", records=[], url="https://hooks.example.com/Hooks/In",
             signature=as_sent)
    elsewhere = sign(SECRET, URL, [hashed, DATE])
    delivery("signed for another path", "wrong_signature", records=[], url=URL + "/else", signature=elsewhere)
    delivery("signed for another query", "wrong_signature", records=[], url=URL + "?tenant=1", signature=elsewhere)
    delivery("another date than the one that was signed", "wrong_signature", change=[("date", "Sat, 21 Nov 2026 05:00:01 GMT")])
    delivery("another content hash than the one that was signed", "wrong_signature", change=[("x-content-sha256", OTHER_HASH)])
    tenant = [("x-tenant", "acme")]
    delivery("another value of a signed header", "wrong_signature", custom=tenant, change=[("x-tenant", "evil")])
    delivery("a signed header that is not ASCII", "wrong_signature", custom=tenant, change=[("x-tenant", "acmë")])
    delivery("a signed header twice", "wrong_signature", custom=tenant, more=[("X-Tenant", "evil")])
    delivery("signed in one order, said in another", "wrong_signature", records=[], custom=tenant,
             signature=sign(SECRET, URL, ["acme", DATE, hashed]))


def wrong_date():
    delivery("301 seconds old", "stale_date", date="Sat, 21 Nov 2026 04:54:59 GMT")
    delivery("a year old", "stale_date", date="Fri, 21 Nov 2025 05:00:00 GMT")
    delivery("301 seconds ahead", "future_date", date="Sat, 21 Nov 2026 05:05:01 GMT")
    for what, date in [
        ("a date in another format", "2026-11-21T05:00:00Z"), ("a date in seconds", "1795237200"),
        ("a date as RFC 850 had it", "Saturday, 21-Nov-26 05:00:00 GMT"), ("a date as asctime has it", "Sat Nov 21 05:00:00 2026"),
        ("a date with an offset", "Sat, 21 Nov 2026 05:00:00 +0000"), ("a date of another weekday", "Sun, 21 Nov 2026 05:00:00 GMT"),
        ("a date in lower case", "sat, 21 nov 2026 05:00:00 gmt"), ("a day that there is not", "Tue, 31 Nov 2026 05:00:00 GMT"),
        ("an hour that there is not", "Sat, 21 Nov 2026 24:00:00 GMT"), ("a leap second", "Sat, 21 Nov 2026 04:59:60 GMT"),
        ("a day of one digit", "Sun, 1 Nov 2026 05:00:00 GMT"), ("two spaces in a date", "Sat,  21 Nov 2026 05:00:00 GMT"),
        ("a date that is not ASCII", "Sät, 21 Nov 2026 05:00:00 GMT"), ("an empty date", ""),
    ]:
        delivery(what, "malformed_date", date=date)
    delivery("the date twice", "malformed_date", more=[("date", DATE)])


def wrong_content():
    for what, value in [("a content hash of 31 bytes", base64.b64encode(bytes(31)).decode()), ("an empty content hash", ""),
                        ("a content hash that is not ASCII", "ë" * 43 + "=")]:
        delivery(what, "malformed_content_hash", change=[("x-content-sha256", value)])
    delivery("the content hash twice", "malformed_content_hash", more=[("x-content-sha256", OTHER_HASH)])
    plain = to_json(envelope([record()]))
    delivery("a changed byte of the body", "wrong_content_hash", body=plain, sent_body=plain.replace(b"orderId", b"orderID"))
    delivery("a body that is cut", "wrong_content_hash", body=plain, sent_body=plain[:-1])
    packed = stored(plain)
    delivery("a gzip that was unpacked on its way", "wrong_content_hash", body=packed, sent_body=plain, content=GZIP)

    delivery("no content type", "unsupported_content_type", content=[])
    for what in ["text/plain", "application/jsonp", "application/json, application/json"]:
        delivery(f"content-type: {what}", "unsupported_content_type", content=[("content-type", what)])
    for what in ["br", "identity", "gzip, gzip"]:
        delivery(f"content-encoding: {what}", "unsupported_encoding", content=[*JSON, ("content-encoding", what)])
    delivery("no gzip where one is announced", "malformed_gzip", content=GZIP)
    delivery("a gzip that is cut", "malformed_gzip", body=packed[:-9], content=GZIP)
    spoiled = packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]
    delivery("a gzip with another checksum", "malformed_gzip", body=spoiled, content=GZIP)
    name = "a gzip of more bytes than allowed"
    delivery(name, "too_large", body=zipped(name, bytes(MAX_BYTES + 1)), content=GZIP)


def wrong_json():
    def whole(change):
        one = envelope([record()])
        change(one, one["records"][0])
        return to_json(one)

    delivery("no JSON", "malformed_json", body=b"not JSON")
    delivery("JSON that is cut", "malformed_json", body=to_json(envelope([record()]))[:-1])
    delivery("two JSON texts", "malformed_json", body=to_json(envelope([])) * 2)
    delivery("JSON that is not UTF-8", "malformed_json", body=to_json(envelope([record(data="Zoë")])).replace(b"\xc3\xab", b"\xeb"))
    for what, body in [("a list", []), ("null", None), ("a text", "text"), ("an empty object", {})]:
        delivery(f"JSON of another kind: {what}", "malformed_envelope", body=to_json(body))
    for what, change in [
        ("no sessionId", lambda whole, one: whole.pop("sessionId")),
        ("a subscriptionId that is a number", lambda whole, one: whole.update(subscriptionId=1)),
        ("no records", lambda whole, one: whole.pop("records")),
        ("records that are no list", lambda whole, one: whole.update(records={"0": one})),
        ("a record that is null", lambda whole, one: whole.update(records=[None])),
        ("a record without a value", lambda whole, one: one.pop("value")),
        ("a value without headers", lambda whole, one: one["value"].pop("headers")),
        ("no messageId", lambda whole, one: one["value"]["headers"].pop("messageId")),
        ("a messageId that is a number", lambda whole, one: one["value"]["headers"].update(messageId=1)),
        ("no eventType", lambda whole, one: one["value"]["headers"].pop("eventType")),
        ("data under another name", lambda whole, one: one["value"]["headers"].update(eventType="order.changed")),
    ]:
        delivery(what, "malformed_envelope", body=whole(change))


def standard_webhooks():
    """`standardWebhooks` marks requests whose result depends on these headers, for receivers that verify them."""
    known = SIGNING["standardWebhooks"][0]

    def headers(body, message_id="msg_0193a1f0-0000-7000-8000-000000000003", timestamp="1795237200", signature=None):
        signed = hmac_base64(SECRET, f"{message_id}.{timestamp}.".encode() + body)
        given = f"v1,{signed}" if signature is None else signature.replace("SIGNED", signed)
        return [("webhook-id", message_id), ("webhook-timestamp", timestamp), ("webhook-signature", given)]

    body = base64.b64decode(known["bodyBase64"])
    of_known = headers(body, known["id"], str(known["timestamp"]))
    assert of_known[2][1] == known["signature"]
    delivery("signing.json, Standard Webhooks", "malformed_envelope", body=body, more=of_known, standard=True)
    for what, refused, changes in [
        ("with Standard Webhooks headers besides", None, {}),
        ("with two Standard Webhooks signatures, the second right", None, {"signature": f"v1,{OTHER_HASH} v1,SIGNED"}),
        ("another Standard Webhooks signature", "wrong_signature", {"signature": f"v1,{OTHER_HASH}"}),
        ("a Standard Webhooks signature of another version", "malformed_signature", {"signature": "v1a,SIGNED"}),
        ("a Standard Webhooks id of another form", "malformed_id", {"message_id": "0193a1f0"}),
        ("a Standard Webhooks timestamp with a fraction", "malformed_timestamp", {"timestamp": "1795237200.5"}),
        ("a Standard Webhooks timestamp 301 seconds old", "stale_timestamp", {"timestamp": "1795236899"}),
        ("a Standard Webhooks timestamp 301 seconds ahead", "future_timestamp", {"timestamp": "1795237501"}),
    ]:
        one = record()
        body = to_json(envelope([one]))
        delivery(what, refused, records=[one], body=body, more=headers(body, **changes), standard=True)
    delivery("without the id of Standard Webhooks", "missing_header", records=[], more=headers(to_json(envelope([])))[1:], standard=True)


def written(everything):
    """JSON with one line per header."""
    text = json.dumps(everything, ensure_ascii=False, indent=1)
    return re.sub(r'\[\n +("(?:[^"\\]|\\.)*"),\n +("(?:[^"\\]|\\.)*")\n +\]', r"[\1, \2]", text) + "\n"


KEPT = {request["name"]: base64.b64decode(request["bodyBase64"]) for request in PRESENT["requests"]}
with tempfile.TemporaryDirectory() as HOME:
    gpg("--import", given=PRESENT["privateKeys"][KEY_NAME].encode())
    for group in [accepted, from_signing, encrypted, wrong_sender, wrong_authorization, wrong_signature, wrong_date, wrong_content,
                  wrong_json, standard_webhooks]:
        group()
    subprocess.run(["gpgconf", "--homedir", HOME, "--kill", "gpg-agent"], check=True)

names = [request["name"] for request in requests]
assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
text = written({"now": "2026-11-21T05:00:00Z", "toleranceSeconds": 300, "maxBytes": MAX_BYTES, "secrets": SECRETS, "apiKey": API_KEY,
                "privateKeys": PRESENT["privateKeys"], "requests": requests})
if "--check" not in sys.argv[1:]:
    FILE.write_text(text, "utf-8")
elif FILE.read_text("utf-8") != text:
    sys.exit(f"{FILE.name} is not what this makes: run {pathlib.Path(__file__).name} and look at the difference")
print(f"{FILE.name}: {len(requests)} requests")
