"""Tests the token endpoint with Authlib and oauthlib: oauth_clients.py <issuer> <client id> <client secret>"""

import os
import sys

issuer, client_id, client_secret = sys.argv[1:]
# Both require TLS by default, but the test serves plain HTTP on the loopback address.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

import requests
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from oauthlib.oauth2 import BackendApplicationClient, InvalidClientError
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session

well_known = get_well_known_url(issuer, external=True)
metadata = AuthorizationServerMetadata(requests.get(well_known, timeout=10).json())
metadata.validate()
assert metadata["issuer"] == issuer, metadata["issuer"]
token_url = metadata["token_endpoint"]


def active(token):
    body = {"token": token}
    return requests.post(
        metadata["introspection_endpoint"], data=body, auth=(client_id, client_secret), timeout=10
    ).json()["active"]


for method in metadata["token_endpoint_auth_methods_supported"]:
    with AuthlibSession(client_id, client_secret, token_endpoint_auth_method=method) as session:
        token = session.fetch_token(token_url, grant_type="client_credentials", scope="employees:view")
        assert token["scope"] == "employees:view", token
        assert session.introspect_token(metadata["introspection_endpoint"], token["access_token"]).json()["active"]
        revoked = session.revoke_token(metadata["revocation_endpoint"], token["access_token"])
        assert revoked.json() == {}, revoked.text
        assert not active(token["access_token"])

# By default oauthlib uses HTTP Basic. With `include_client_id` it also sends the client id in the body; with `client_secret` as well, it
# sends both only in the body.
for options in (
    {"auth": HTTPBasicAuth(client_id, client_secret)},
    {"auth": HTTPBasicAuth(client_id, client_secret), "include_client_id": True},
    {"client_secret": client_secret},
    {"client_secret": client_secret, "include_client_id": True},
):
    with OAuth2Session(client=BackendApplicationClient(client_id, scope=["employees:view"])) as session:
        token = session.fetch_token(token_url, **options)
        assert token["scope"] == ["employees:view"], token
        assert active(token["access_token"])

try:
    with OAuth2Session(client=BackendApplicationClient(client_id)) as session:
        session.fetch_token(token_url, auth=HTTPBasicAuth(client_id, "wrong"), include_client_id=True)
    raise AssertionError("a wrong secret was accepted")
except InvalidClientError:
    pass
print("ok")
