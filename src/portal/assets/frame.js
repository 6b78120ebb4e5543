/* In a frame: tells the page around the portal its height, its path, and the end of the session. */
(() => {
  const allowed = document.documentElement.dataset.framed?.split(' ') ?? [];
  if (allowed.length === 0 || parent === window) return;
  // The origin of the page around, once it has said hello. Nothing is sent before, and nothing to others.
  let around = null;
  const tell = (sallyport, more = {}) => {
    if (around !== null) parent.postMessage({ sallyport, ...more }, around);
  };
  let height = 0;
  const tellHeight = () => {
    const now = Math.ceil(document.body.getBoundingClientRect().height);
    if (now === height) return;
    height = now;
    tell('height', { height });
  };
  addEventListener('message', ({ source, origin, data }) => {
    if (source !== parent || !allowed.includes(origin) || data?.sallyport !== 'hello') return;
    const isFirst = around === null;
    around = origin;
    if (!isFirst) return;
    if (document.querySelector('[data-session-ended]') !== null) tell('session-ended');
    else tell('ready');
    tell('navigated', { path: location.pathname });
    new ResizeObserver(tellHeight).observe(document.body);
    tellHeight();
  });
  document.addEventListener('htmx:after:history:update', () => tell('navigated', { path: location.pathname }));
})();
