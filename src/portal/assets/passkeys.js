/* Passkeys: asks the browser for one, and puts its answer into the form, which is then sent like any other (WebAuthn Level 3). */
(() => {
  const bytesOf = (text) =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
  const textOf = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer)))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replace(/=+$/, '');
  const withBytes = (credentials) => credentials?.map((credential) => ({ ...credential, id: bytesOf(credential.id) }));

  const ask = {
    register: async (options) => {
      const credential = await navigator.credentials.create({
        publicKey: {
          ...options,
          challenge: bytesOf(options.challenge),
          user: { ...options.user, id: bytesOf(options.user.id) },
          excludeCredentials: withBytes(options.excludeCredentials),
        },
      });
      const { attestationObject, clientDataJSON } = credential.response;
      return answer(credential, {
        attestationObject: textOf(attestationObject),
        clientDataJSON: textOf(clientDataJSON),
        transports: credential.response.getTransports?.() ?? [],
      });
    },
    'sign-in': async (options) => {
      const credential = await navigator.credentials.get({
        publicKey: {
          ...options,
          challenge: bytesOf(options.challenge),
          allowCredentials: withBytes(options.allowCredentials),
        },
      });
      const { authenticatorData, clientDataJSON, signature, userHandle } = credential.response;
      return answer(credential, {
        authenticatorData: textOf(authenticatorData),
        clientDataJSON: textOf(clientDataJSON),
        signature: textOf(signature),
        ...(userHandle === null ? {} : { userHandle: textOf(userHandle) }),
      });
    },
  };
  const answer = (credential, response) => ({
    id: credential.id,
    rawId: textOf(credential.rawId),
    type: credential.type,
    response,
    clientExtensionResults: credential.getClientExtensionResults(),
  });

  // Everything that the form has is asked first: what a device has made it keeps, whether it is taken here or not.
  const optionsOf = async (form) => {
    const body = new URLSearchParams(new FormData(form));
    const reply = await fetch(form.dataset.options, { method: 'POST', body });
    // To the page for signing in: the session has ended.
    if (reply.redirected) return location.reload();
    if (reply.ok) return reply.json();
    const page = new DOMParser().parseFromString(await reply.text(), 'text/html');
    const again = page.querySelector(`form[data-passkey="${form.dataset.passkey}"]`);
    if (again?.querySelector('[role="alert"]:not([hidden])')) return showAgain(form, again);
    throw new Error('The page is out of date: load it again.');
  };
  // With each problem beside its field, as in the page that a browser would get without the script.
  const showAgain = (form, again) => {
    form.replaceWith(again);
    htmx.process(again.parentElement);
  };

  const say = (form, text) => {
    const problem = form.querySelector('[data-passkey-problem]');
    problem.textContent = text;
    problem.hidden = text === '';
  };

  document.addEventListener('submit', async (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || form.dataset.passkey === undefined) return;
    if (form.elements.response.value !== '') return;
    event.preventDefault();
    event.stopImmediatePropagation();
    say(form, '');
    try {
      const options = await optionsOf(form);
      if (options === undefined) return;
      const made = await ask[form.dataset.passkey](options);
      form.elements.response.value = JSON.stringify(made);
      form.requestSubmit();
    } catch (error) {
      // The browser says no more than this of why, so that pages cannot tell which passkeys there are.
      const isRefused = error instanceof DOMException && error.name === 'NotAllowedError';
      say(form, isRefused ? 'No passkey was used: it was cancelled, took too long, or there is none.' : error.message);
    }
  });

  htmx.onLoad((root) => {
    if (window.PublicKeyCredential === undefined) return;
    for (const form of root.querySelectorAll('form[data-passkey][hidden]')) form.hidden = false;
    for (const excuse of root.querySelectorAll('[data-passkey-excuse]')) excuse.hidden = true;
  });
})();
