"""Sets the credentials for schemathesis and protects the resources they depend on.

Settings: RUN_TOKEN, the access token of the run; RUN_IDS, ids that the run must not change, separated by commas.
"""

import os

import schemathesis

OWN = set(os.environ["RUN_IDS"].split(","))
CONDITIONS = {"if-match", "if-none-match"}
# Longer ones make the headers too large, which the server answers with 431 before it knows the operation.
QUERY_CHARACTERS = 1000
UNKNOWN = "01a1fc79-c080-7000-8000-00000000dead"


@schemathesis.auth().skip_for(path_regex="^/services/api/oauth2/(token|introspect|revoke)$")
class RunToken:
    def get(self, case, context):
        return os.environ["RUN_TOKEN"]

    def set(self, case, data, context):
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Keeps the run from changing its own application and user, and removes conditional headers, whose entity tags it cannot know.

    Shortens the values of the query.
    """
    case.query = {
        name: value[:QUERY_CHARACTERS] if isinstance(value, str) else value for name, value in (case.query or {}).items()
    }
    case.headers = {name: value for name, value in (case.headers or {}).items() if name.lower() not in CONDITIONS}
    if not OWN.isdisjoint(map(str, (case.path_parameters or {}).values())):
        case.path_parameters = {name: UNKNOWN for name in case.path_parameters}
