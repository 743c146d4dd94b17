import { render, type VNode } from 'preact';

/** Saves a text through the browser. Replaces `/` in names by `--`, as in an analysis's files. */
export const download = (name: string, type: string, text: string): void => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name.replaceAll('/', '--');
  link.click();
};

export const svgOf = (picture: VNode): string => {
  const parent = document.createElement('div');
  render(picture, parent);
  return [...parent.children].map((child) => `${new XMLSerializer().serializeToString(child)}\n`).join('');
};

const drawn = 'fill stroke stroke-width stroke-dasharray opacity font-size font-weight font-family'.split(
  ' ',
);

/** Saves a picture with inlined styles, in light colours. */
export const saveSvg = (picture: Element, name: string): void => {
  const { dataset } = document.documentElement;
  const { theme } = dataset;
  dataset['theme'] = 'light';
  const copy = picture.cloneNode(true) as Element;
  const copies = copy.querySelectorAll('*');
  for (const [at, part] of picture.querySelectorAll('*').entries()) {
    const style = getComputedStyle(part);
    const values = drawn.map((property) => `${property}:${style.getPropertyValue(property)}`);
    copies[at]?.setAttribute('style', values.join(';'));
  }
  dataset['theme'] = theme ?? 'auto';
  download(`${name}.svg`, 'image/svg+xml', new XMLSerializer().serializeToString(copy));
};
