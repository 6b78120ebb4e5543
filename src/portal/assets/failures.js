/* What becomes of requests that a page makes by itself: one that fails leaves the page as it is, and says so where it is seen. */
(() => {
  // Which request it is that the page speaks of: a later one that succeeds takes the words away again.
  let spoken = null;
  const noticeOf = () => document.querySelector('#failure > .notice');
  const say = (what, title, text) => {
    const notice = noticeOf();
    if (notice === null) return;
    spoken = what;
    // What is asked for every few seconds is not said aloud every few seconds.
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
    if (what === spoken) hide();
  };
  const nameOf = ({ request: { method, action } }) => `${method} ${action.split('?', 1)[0]}`;

  // Our own refusals say what was wrong; whatever else stands before us says no more than its status.
  const wordsOf = ({ text, response: { status } }) => {
    const refusal = new DOMParser().parseFromString(text, 'text/html').querySelector('.refusal');
    if (refusal === null) return ['That did not work', `The server answered ${status}. Try again in a moment.`];
    const words = [...refusal.querySelectorAll('p:not(.refusal-status)')].filter(
      (line) => line.querySelector('a') === null,
    );
    return [refusal.querySelector('h1').textContent, words.map((line) => line.textContent).join(' ')];
  };

  document.addEventListener('htmx:after:request', (event) => {
    const { ctx } = event.detail;
    if (ctx.response.status < 400) return succeeded(nameOf(ctx));
    // What it would have replaced stays: with it would go what asks again, or what a filter fills.
    event.preventDefault();
    say(nameOf(ctx), ...wordsOf(ctx));
  });
  document.addEventListener('htmx:error', ({ detail: { ctx } }) => {
    if (ctx === undefined) return;
    const isLate = ctx.request.signal.reason === 'timeout';
    const text = isLate
      ? 'No answer came in time. Try again in a moment.'
      : 'There is no connection. Try again in a moment.';
    say(nameOf(ctx), 'That did not work', text);
  });

  // Streams try again by themselves. Live tails say it at their own place.
  const isTail = ({ target }) => target instanceof Element && target.closest('[data-tail]') !== null;
  document.addEventListener('htmx:sse:error', (event) => {
    const isRetry = event.detail.connection?.attempt > 0;
    if (isRetry && !isTail(event)) say('stream', 'Not connected', 'What stands here is no longer kept up to date.');
  });
  document.addEventListener('htmx:sse:after:connection', (event) => {
    if (!isTail(event)) succeeded('stream');
  });

  document.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('#failure button') !== null) hide();
  });
})();
