import { render, type VNode } from 'preact';

/** Has the browser save a text as a file. Names have `--` for `/`, like the files of an analysis. */
export const download = (name: string, type: string, text: string): void => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name.replaceAll('/', '--');
  link.click();
};

/** Draws a picture in the browser as the text of an SVG file. */
export const svgOf = (picture: VNode): string => {
  const parent = document.createElement('div');
  render(picture, parent);
  return [...parent.children].map((child) => `${new XMLSerializer().serializeToString(child)}\n`).join('');
};
