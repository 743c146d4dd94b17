import { render, type VNode } from 'preact';

/** Saves a text through the browser. `/` in names becomes `--`, as in files of an analysis. */
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
