/* Failed requests of a page's script: the page stays as it is and shows a message. */
(() => {
  // The request that the message is about. The message disappears when the request succeeds.
  let subject = null;
  const noticeOf = () => document.querySelector('#failure > .notice');
  const say = (what, title, text) => {
    const notice = noticeOf();
    if (notice === null) return;
    subject = what;
    // Screen readers announce a repeated message once.
    if (!notice.hidden && notice.dataset.text === title + text) return;
    notice.dataset.text = title + text;
    notice.querySelector('.notice-title').textContent = title;
    notice.querySelector('.notice-text').textContent = text;
    notice.hidden = false;
  };
  const hide = () => {
    const notice = noticeOf();
    if (notice !== null) notice.hidden = true;
  };
  const succeeded = (what) => {
    if (what === subject) hide();
  };
  const nameOf = ({ request: { method, action } }) => `${method} ${action.split('?', 1)[0]}`;

  // Refusals by Sallyport have a text. Of other responses, for example by a proxy, only the status is shown.
  const wordsOf = ({ text, response: { status } }) => {
    const refusal = new DOMParser().parseFromString(text, 'text/html').querySelector('.refusal');
    if (refusal === null) return ['The request failed', `The server answered ${status}. Try again in a moment.`];
    const words = [...refusal.querySelectorAll('p:not(.refusal-status)')].filter(
      (line) => line.querySelector('a') === null,
    );
    return [refusal.querySelector('h1').textContent, words.map((line) => line.textContent).join(' ')];
  };

  document.addEventListener('htmx:after:request', (event) => {
    const { ctx } = event.detail;
    if (ctx.response.status < 400) return succeeded(nameOf(ctx));
    // The response must not replace the content of the page.
    event.preventDefault();
    say(nameOf(ctx), ...wordsOf(ctx));
  });
  document.addEventListener('htmx:error', ({ detail: { ctx } }) => {
    if (ctx === undefined) return;
    const isLate = ctx.request.signal.reason === 'timeout';
    const text = isLate
      ? 'No answer came in time. Try again in a moment.'
      : 'There is no connection. Try again in a moment.';
    say(nameOf(ctx), 'The request failed', text);
  });

  // Streams reconnect automatically. Live lists of attempts have a message of their own.
  const isTail = ({ target }) => target instanceof Element && target.closest('[data-tail]') !== null;
  document.addEventListener('htmx:sse:error', (event) => {
    const isRetry = event.detail.connection?.attempt > 0;
    if (isRetry && !isTail(event))
      say('stream', 'Not connected', 'This page is not up to date. It reconnects automatically.');
  });
  document.addEventListener('htmx:sse:after:connection', (event) => {
    if (!isTail(event)) succeeded('stream');
  });

  document.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('#failure button') !== null) hide();
  });
})();
