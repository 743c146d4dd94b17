import { h } from 'vue';

const command = 'layerloom swap --task ./math-1 --lang ./swh-1 -o ./merged';

const layers = 32;
const [bottom, top] = [5, 2];
const [left, width, step] = [72, 132, 8];

const legend = [
  { origin: 'language', words: ['top 2 layers:', 'language expert'], row: 0 },
  { origin: 'task', words: ['layers 5 to 29:', 'task expert'], row: 13 },
  { origin: 'language', words: ['bottom 5 layers:', 'language expert'], row: 27.5 },
];

const bar = (origin, y, part = 0, of = 1) =>
  h('rect', { class: origin, x: left + (part * width) / of, y, width: width / of, height: step - 2, rx: 1 });

const text = (x, y, content, anchor) => h('text', { x, y, 'text-anchor': anchor }, content);

const rows = Array.from({ length: layers }, (_, row) => {
  const layer = layers - 1 - row;
  return bar(layer < bottom || layer >= layers - top ? 'language' : 'task', row * step);
});
const outside = layers * step + 10;

/** A command and what it merges, with a legend; drawn in the page, so that it follows the theme. */
export const SwapPicture = () =>
  h(
    'figure',
    { class: 'swap-picture' },
    h('svg', { viewBox: `0 -8 330 ${outside + 38}`, role: 'img', 'aria-labelledby': 'swap-title' }, [
      h('title', { id: 'swap-title' }, 'The layers of the merged model, and the expert that each comes from'),
      ...rows,
      bar('task', outside, 0, 2),
      bar('language', outside, 1, 2),
      ...[31, 29, 4, 0].map((layer) =>
        text(left - 8, (layers - 1 - layer) * step + 7, `${layer === 31 ? 'layer ' : ''}${layer}`, 'end'),
      ),
      text(left - 8, outside + 7, 'outside', 'end'),
      ...legend.flatMap(({ origin, words: [place, expert], row }) => [
        text(left + width + 10, row * step + 9, place, 'start'),
        h('text', { class: origin, x: left + width + 10, y: row * step + 24 }, expert),
      ]),
      text(left + width + 10, outside + 7, 'average of both', 'start'),
      text(left + width / 2, outside + 26, 'embeddings, last norm, output', 'middle'),
    ]),
    h('figcaption', [
      // A line ends between words alone, never within an option.
      h(
        'code',
        command.split(' ').flatMap((word) => [h('span', word), ' ']),
      ),
    ]),
  );
