// Tests the token endpoint with the Nimbus OAuth 2.0 SDK: java -cp <libraries> OAuthClient.java <issuer> <client id> <client secret>
import com.nimbusds.oauth2.sdk.*;
import com.nimbusds.oauth2.sdk.as.AuthorizationServerMetadata;
import com.nimbusds.oauth2.sdk.auth.*;
import com.nimbusds.oauth2.sdk.id.*;
import com.nimbusds.oauth2.sdk.token.AccessToken;

class OAuthClient {
    public static void main(String[] args) throws Exception {
        ClientID id = new ClientID(args[1]);
        Secret secret = new Secret(args[2]);
        // `resolve` parses every member and compares the issuer.
        AuthorizationServerMetadata metadata = AuthorizationServerMetadata.resolve(new Issuer(args[0]));
        check(metadata.getGrantTypes().contains(GrantType.CLIENT_CREDENTIALS), "grant types");
        ClientAuthentication[] methods = {new ClientSecretBasic(id, secret), new ClientSecretPost(id, secret)};
        for (ClientAuthentication method : methods) {
            check(metadata.getTokenEndpointAuthMethods().contains(method.getMethod()), "authentication methods");
            TokenRequest request = new TokenRequest.Builder(
                metadata.getTokenEndpointURI(), method, new ClientCredentialsGrant())
                .scope(new Scope("employees:view")).build();
            TokenResponse granted = TokenResponse.parse(request.toHTTPRequest().send());
            check(granted.indicatesSuccess(), "token");
            AccessToken token = granted.toSuccessResponse().getTokens().getAccessToken();
            check(token.getScope().equals(new Scope("employees:view")), "scope");
            check(active(metadata, method, token), "introspection");
            TokenRevocationRequest revocation =
                new TokenRevocationRequest(metadata.getRevocationEndpointURI(), method, token);
            check(revocation.toHTTPRequest().send().indicatesSuccess(), "revocation");
            check(!active(metadata, method, token), "introspection after revocation");
        }
        ClientAuthentication wrong = new ClientSecretBasic(id, new Secret("wrong"));
        TokenRequest refused = new TokenRequest.Builder(
            metadata.getTokenEndpointURI(), wrong, new ClientCredentialsGrant()).build();
        ErrorObject error = TokenResponse.parse(refused.toHTTPRequest().send()).toErrorResponse().getErrorObject();
        check(error.equals(OAuth2Error.INVALID_CLIENT), "wrong secret");
        System.out.println("ok");
    }

    static boolean active(AuthorizationServerMetadata metadata, ClientAuthentication method, AccessToken token)
        throws Exception {
        TokenIntrospectionRequest request =
            new TokenIntrospectionRequest(metadata.getIntrospectionEndpointURI(), method, token);
        return TokenIntrospectionResponse.parse(request.toHTTPRequest().send()).toSuccessResponse().isActive();
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }
}
