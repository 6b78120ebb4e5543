"""Uses the API with the package that openapi-python-client made of its description: openapi_client.py <url> <client id> <client secret>"""

import importlib
import pkgutil
import sys

import sallyport_client
from sallyport_client import AuthenticatedClient, Client
from sallyport_client.api.customers import create_customer
from sallyport_client.api.endpoints import create_endpoint
from sallyport_client.api.oauth import issue_token
from sallyport_client.api.webhooks import list_webhooks
from sallyport_client.models import CustomerInput, CustomerLimitsInput, EndpointInput, Error, TokenForm, TokenRequest

for module in pkgutil.walk_packages(sallyport_client.__path__, "sallyport_client."):
    importlib.import_module(module.name)

url, client_id, client_secret = sys.argv[1:]
anyone = Client(base_url=url)
form = TokenForm(grant_type="client_credentials", client_id=client_id, client_secret=client_secret)
assert issue_token.sync(client=anyone, body=form).token_type == "Bearer"
request = TokenRequest(grant_type="client_credentials", client_id=client_id, client_secret=client_secret)
client = AuthenticatedClient(base_url=url, token=issue_token.sync(client=anyone, body=request).access_token)

webhooks = list_webhooks.sync(client=client, limit=10)
assert [(webhook.name, webhook.retry.max_attempts) for webhook in webhooks.items] == [("Orders", 20)], webhooks

endpoint = create_endpoint.sync(client=client, body=EndpointInput(name="Generated", url="https://receiver.example/hook"))
assert endpoint.content_encoding is None, endpoint

limits = CustomerLimitsInput(endpoints=5)
customer = create_customer.sync(client=client, body=CustomerInput(name="Generated", limits=limits))
assert customer.limits.endpoints == 5, customer

refused = create_endpoint.sync(client=client, body=EndpointInput(name="", url="no address"))
assert isinstance(refused, Error) and refused.error.code == "validation_failed", refused
print("ok")
