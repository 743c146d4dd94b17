import { type ComponentType, h } from 'preact';
import { visible } from '../../../core/base/errors/visible.js';
import { render } from '../render.js';

/** Renders SVG. Escapes control characters and `]]>`: XML forbids them, and file names may have them. */
export const drawPicture = <Props extends object>(Drawn: ComponentType<Props>, props: Props): string =>
  `${visible(render(h(Drawn, props))).replaceAll(']]>', ']]&gt;')}\n`;
