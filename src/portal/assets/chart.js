/* Draws the charts of a page from the data in their elements. The table below each chart has the same numbers. */
(() => {
  const HEIGHT = 216;
  const colour = (element, name) => getComputedStyle(element).getPropertyValue(name).trim();
  // A canvas does not support light-dark(). A temporary element gives the current colour.
  const resolved = (element, name) => {
    const probe = document.createElement('span');
    probe.style.color = `var(${name})`;
    element.append(probe);
    const text = getComputedStyle(probe).color;
    probe.remove();
    return text;
  };
  const charts = new Map();

  const widthOf = (element) => Math.max(element.clientWidth, 200);
  const halfInterval = ([first, second = first]) => (second - first) / 2;
  // A bar is in the middle of its interval. Stacked values are sums. A zero has no bar: its edge would show behind the others.
  const columnsOf = ({ times, series, stacked }) => {
    const columns = series.map(({ values }) => [...values]);
    if (stacked) {
      for (let at = 0; at < times.length; at += 1) {
        let sum = 0;
        for (const column of columns) {
          sum += column[at] ?? 0;
          column[at] = column[at] ? sum : null;
        }
      }
    }
    // The largest is drawn first, and the others in front of it.
    return [times.map((at) => (at + halfInterval(times)) / 1000), ...columns.reverse()];
  };
  const number = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
  const milliseconds = (ms) => (ms < 1000 ? `${number.format(ms)} ms` : `${number.format(ms / 1000)} s`);
  const textOf = (unit) => (unit === 'ms' ? milliseconds : (value) => number.format(value));

  // Times as everywhere on the page.
  const { dayAndClock, dayAndMonth, hourAndMinute } = globalThis.sallyportTimes;

  // Marks of the time axis: the day, or the time with the day where it begins.
  const timeMarks = (_, marks, __, ___, step) => {
    let shown = '';
    return marks.map((seconds) => {
      const day = dayAndMonth.format(seconds * 1000);
      if (step >= 86400) return day;
      const isNew = day !== shown;
      shown = day;
      const time = hourAndMinute.format(seconds * 1000);
      return isNew ? `${time}\n${day}` : time;
    });
  };
  // A delivery is not divided.
  const WHOLE = [1, 2, 5].flatMap((digit) => [0, 1, 2, 3, 4, 5, 6, 7, 8].map((power) => digit * 10 ** power));
  WHOLE.sort((a, b) => a - b);

  // Half an interval more at each end, for the bars there.
  const wholeRange = ({ data: [times] }, min, max) => {
    const half = halfInterval(times);
    return [min <= times[0] ? times[0] - half : min, max >= times.at(-1) ? times.at(-1) + half : max];
  };

  const draw = (element) => {
    charts.get(element)?.chart.destroy();
    const carried = JSON.parse(element.dataset.chart);
    const { series, unit } = carried;
    const text = textOf(unit);
    const line = resolved(element, '--line');
    const axis = {
      stroke: resolved(element, '--ink-soft'),
      grid: { stroke: line, width: 1 },
      ticks: { show: false },
      font: `11px ${colour(element, '--text')}`,
    };
    const known = () => charts.get(element)?.carried;
    const bars = series.map(({ label, tone }, which) => ({
      label,
      stroke: resolved(element, `--${tone}`),
      fill: resolved(element, `--${tone}`),
      width: 0,
      paths: uPlot.paths.bars({ size: [0.7, 24] }),
      points: { show: false },
      value: (_, __, ___, at) => {
        if (at === null) return '';
        const value = known()?.series[which]?.values[at];
        return value === null || value === undefined ? '–' : text(value);
      },
    }));
    const momentText = (_, __, ___, at) => (at === null ? '' : dayAndClock.format(known()?.times[at]));
    const chart = new uPlot(
      {
        width: widthOf(element),
        height: HEIGHT,
        // Below the title, and beside the last mark of the time.
        padding: [6, 16, 0, 0],
        series: [{ label: 'Time', value: momentText }, ...bars.toReversed()],
        axes: [
          { ...axis, values: timeMarks, space: 70 },
          {
            ...axis,
            size: unit === 'ms' ? 56 : 40,
            incrs: WHOLE,
            values: (_, marks) => marks.map((mark) => text(mark)),
          },
        ],
        scales: { x: { range: wholeRange }, y: { range: (_, __, max) => [0, Math.max(max ?? 0, 1) * 1.08] } },
        legend: { live: true },
        cursor: { points: { show: false }, drag: { x: true, y: false } },
        hooks: { setScale: [(drawn, scale) => scale === 'x' && showAllButton(element, drawn)] },
      },
      columnsOf(carried),
      element,
    );
    charts.set(element, { chart, carried });
  };

  // Dragging zooms in. Double-clicking, or the button, shows everything again.
  const isZoomed = ({ scales: { x }, data: [times] }) => x.min > times[0] || x.max < times.at(-1);
  const showAllButton = (element, chart) => {
    const button = element.parentElement.querySelector('[data-chart-all]');
    if (button !== null) button.hidden = !isZoomed(chart);
  };
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof Element) || !target.matches('[data-chart-all]')) return;
    const { chart } = charts.get(target.parentElement.querySelector('[data-chart]')) ?? {};
    chart?.setScale('x', { min: chart.data[0][0], max: chart.data[0].at(-1) });
  });

  // New numbers for the same lines update the drawing, so the pointer and the zoom keep their place.
  const update = (element) => {
    const known = charts.get(element);
    const carried = JSON.parse(element.dataset.chart);
    const linesOf = ({ series }) => series.map(({ label }) => label).join();
    if (known === undefined || linesOf(known.carried) !== linesOf(carried)) return draw(element);
    known.carried = carried;
    const { min, max } = known.chart.scales.x;
    const stays = isZoomed(known.chart);
    known.chart.setData(columnsOf(carried), !stays);
    if (stays) known.chart.setScale('x', { min, max });
  };

  const watched = new MutationObserver((changes) => {
    for (const { target } of changes) update(target);
  });
  // uPlot keeps listeners until a chart is destroyed.
  const forget = (element) => {
    charts.get(element)?.chart.destroy();
    charts.delete(element);
  };
  const forgetGone = () => {
    for (const element of charts.keys()) if (!element.isConnected) forget(element);
  };
  const drawNew = (root) => {
    forgetGone();
    for (const element of root.querySelectorAll('[data-chart]')) {
      if (charts.has(element)) continue;
      draw(element);
      watched.observe(element, { attributeFilter: ['data-chart'] });
    }
  };
  const drawAnew = () => {
    forgetGone();
    for (const element of charts.keys()) draw(element);
  };
  const start = () => {
    drawNew(document);
    new ResizeObserver(() => {
      forgetGone();
      for (const [element, { chart }] of charts) chart.setSize({ width: widthOf(element), height: HEIGHT });
    }).observe(document.body);
  };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
  else start();
  document.addEventListener('htmx:after:process', ({ target }) => drawNew(target));
  document.addEventListener('theme', drawAnew);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAnew);
})();
