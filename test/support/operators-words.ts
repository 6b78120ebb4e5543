/**
 * Words that only the operator knows: its commands, its settings, its documentation, its database, the employees API, and what only its
 * audit log has. The name of a npm package is allowed.
 */
export const OPERATORS_WORDS: RegExp = new RegExp(
  [
    String.raw`\bsallyport [a-z]|SALLYPORT_|\bdocs\/|\b[Ee]mployees?\b|master key|\bdatabase\b|\bbackup\b`,
    String.raw`what customers use|look of the customers|\bcustomer Acme\b|requires the role|with the owner|keys of receivers`,
  ].join('|'),
);
