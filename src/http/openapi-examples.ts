/**
 * What the components of the OpenAPI document look like in use, by the name of the component. All tell of one small company:
 * its payroll program reads employees and is told when one changes. The secrets are of no use anywhere.
 */
import type { ApplicationView } from '../access/applications.ts';
import type { ProductView } from '../access/products.ts';
import type { UserView } from '../access/users.ts';
import type { EmployeeView } from '../employees/employees.ts';
import { AT, id, LATER, stamps } from './openapi-example-values.ts';
import { WEBHOOK_EXAMPLES } from './openapi-examples-webhooks.ts';

const CLIENT_ID = 'spc_ExampleClientId0000000000000';
const CLIENT_SECRET = 'sps_ExampleClientSecret000000000000000000000000000000';
const ACCESS_TOKEN = 'spt_ExampleAccessToken000000000000000000000000000000000000000000';
const SCOPE = 'employees:edit employees:view';

const userInput = {
  userName: 'payroll',
  displayName: 'Payroll program',
  email: 'payroll@company.example',
  role: 'service',
  permissions: ['employees:edit', 'employees:view'],
  constraints: { divisions: ['sales'] },
} as const;

const user: UserView = {
  id: id(1),
  ...userInput,
  permissions: [...userInput.permissions],
  constraints: { divisions: ['sales'] },
  active: true,
  ...stamps,
};

const productInput = {
  name: 'Files',
  scopes: [
    { name: 'files:view', description: 'Read files.' },
    { name: 'files:edit', description: 'Write and delete files.' },
  ],
  rules: [
    { methods: ['GET'], path: '/services/api/x/files/v1/{path*}', scope: 'files:view' },
    { methods: ['PUT', 'DELETE'], path: '/services/api/x/files/v1/{path*}', scope: 'files:edit' },
  ],
};

const product: ProductView = { id: id(2), ...productInput, builtIn: false, ...stamps };

const applicationInput = {
  name: 'Payroll',
  userId: user.id,
  accessTokenValiditySeconds: 3600,
  scopes: ['employees:edit', 'employees:view'],
};

const application: ApplicationView = {
  id: id(3),
  ...applicationInput,
  clientId: CLIENT_ID,
  active: true,
  lastUsedAt: null,
  secretCreatedAt: stamps.createdAt,
  previousSecretExpiresAt: null,
  ...stamps,
};

const employeeInput = {
  externalId: 'HR-1042',
  userName: 'maria.silva',
  firstName: 'Maria',
  lastName: 'Silva',
  email: 'maria.silva@company.example',
  division: 'sales',
  managerId: null,
  hireDate: '2026-11-02',
};

const employee: EmployeeView = { userId: id(4), ...employeeInput, active: true, ...stamps };

const ACCESS_EXAMPLES = {
  UserInput: userInput,
  UserPatch: { displayName: null, permissions: ['employees:view'] },
  User: user,
  ProductInput: productInput,
  ProductPatch: { name: 'File store' },
  Product: product,
  ApplicationInput: applicationInput,
  ApplicationPatch: { scopes: ['employees:view'], accessTokenValiditySeconds: null },
  Application: application,
  ApplicationWithSecret: { ...application, clientSecret: CLIENT_SECRET },
  RegenerateSecretInput: { overlapSeconds: 86_400, revokeTokens: false },
  AuditEntry: {
    id: id(5),
    at: AT,
    actor: `user:${user.id}`,
    action: 'application.update',
    target: `application:${application.id}`,
    changes: { scopes: { from: ['employees:edit', 'employees:view'], to: ['employees:view'] } },
  },
  EmployeeInput: employeeInput,
  EmployeePatch: { division: 'marketing', managerId: null },
  Employee: employee,
};

const OAUTH_EXAMPLES = {
  TokenRequest: {
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    grantType: 'client_credentials',
    scope: SCOPE,
  },
  TokenForm: {
    grant_type: 'client_credentials',
    client_id: CLIENT_ID,
    client_secret: CLIENT_SECRET,
    scope: SCOPE,
  },
  TokenResponse: { access_token: ACCESS_TOKEN, expires_in: 3600, scope: SCOPE, token_type: 'Bearer' },
  IntrospectionRequest: { token: ACCESS_TOKEN },
  IntrospectionForm: { token: ACCESS_TOKEN },
  IntrospectionResponse: {
    active: true,
    scope: SCOPE,
    client_id: CLIENT_ID,
    username: user.userName,
    token_type: 'Bearer',
    exp: Date.parse(LATER) / 1000,
    iat: Date.parse(AT) / 1000,
    sub: user.id,
  },
  RevocationRequest: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, token: ACCESS_TOKEN },
  RevocationForm: { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, token: ACCESS_TOKEN },
  AuthorizationServerMetadata: {
    issuer: 'https://edge.company.example',
    token_endpoint: 'https://edge.company.example/services/api/oauth2/token',
    introspection_endpoint: 'https://edge.company.example/services/api/oauth2/introspect',
    revocation_endpoint: 'https://edge.company.example/services/api/oauth2/revoke',
    scopes_supported: ['employees:create', 'employees:edit', 'employees:view'],
    response_types_supported: ['none'],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'Bearer'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  },
};

const EXAMPLES: Readonly<Record<string, unknown>> = {
  ...ACCESS_EXAMPLES,
  ...OAUTH_EXAMPLES,
  ...WEBHOOK_EXAMPLES,
  Health: { status: 'ok' },
};

/** The example of a component; that of a page is made from the example of its item. Undefined where there is none. */
export function exampleOf(component: string): unknown {
  if (component in EXAMPLES || !component.endsWith('Page')) return EXAMPLES[component];
  const item = EXAMPLES[component.slice(0, -'Page'.length)];
  return item === undefined ? undefined : { items: [item], nextCursor: null };
}
