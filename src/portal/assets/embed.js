/* Shows a customer's portal in a page: Sallyport.embed(element, url, { onready, onheight, onnavigated, onsessionended }). */
(() => {
  const HEIGHT_MIN = 320;
  const HEIGHT_MAX = 20000;
  const embed = (place, url, options = {}) => {
    // Messages count from this origin alone, and go to no other.
    const { origin } = new URL(url);
    const frame = document.createElement('iframe');
    frame.src = url;
    frame.title = options.title ?? 'Webhooks';
    frame.referrerPolicy = 'no-referrer';
    frame.allow = 'clipboard-write';
    Object.assign(frame.style, { width: '100%', height: `${HEIGHT_MIN}px`, border: '0' });
    const greet = () => frame.contentWindow?.postMessage({ sallyport: 'hello' }, origin);
    const receive = ({ source, origin: from, data }) => {
      if (source !== frame.contentWindow || from !== origin || typeof data?.sallyport !== 'string') return;
      const { sallyport: name, ...event } = data;
      if (name === 'height' && Number.isFinite(event.height)) {
        frame.style.height = `${Math.min(Math.max(event.height, HEIGHT_MIN), HEIGHT_MAX)}px`;
      }
      if (name === 'ready') options.onready?.(event);
      if (name === 'height') options.onheight?.(event);
      if (name === 'navigated') options.onnavigated?.(event);
      if (name === 'session-ended') options.onsessionended?.(event);
    };
    addEventListener('message', receive);
    // The portal loads a document for each of its pages.
    frame.addEventListener('load', greet);
    place.append(frame);
    return {
      frame,
      close: () => {
        removeEventListener('message', receive);
        frame.remove();
      },
    };
  };
  globalThis.Sallyport = Object.freeze({ embed });
})();
