/** Advice that several refusals share. */

/** For a command that could not reach an endpoint. The server may still reach it. */
export const OWN_SETTINGS =
  "A command goes by SALLYPORT_EGRESS_ALLOW, SALLYPORT_EGRESS_PROXY and SALLYPORT_CA_FILE of its own environment, or its flags: give it the server's.";

/** For actions that need a verified endpoint. */
export function howToVerify(endpointId: string): string {
  return `verify it first: POST /endpoints/${endpointId}/verify, or sallyport endpoint verify ${endpointId}`;
}
