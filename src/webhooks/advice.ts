/** What refusals say of what to do, where it is the same in several. */

/** For a command that did not get through to an endpoint: the server beside it may get through all the same. */
export const OWN_SETTINGS =
  "A command goes by SALLYPORT_EGRESS_ALLOW, SALLYPORT_EGRESS_PROXY and SALLYPORT_CA_FILE of its own environment, or its flags: give it the server's.";

/** For what an endpoint may only do once it is verified. */
export function howToVerify(endpointId: string): string {
  return `verify it first: POST /endpoints/${endpointId}/verify, or sallyport endpoint verify ${endpointId}`;
}
