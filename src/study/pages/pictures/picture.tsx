import type { ComponentChildren } from 'preact';

export const fontFamily = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/** Colours of text and lines on white; a page's style sheet overrides them for its theme. */
export const ink = { text: '#222', soft: '#555', frame: '#999', rule: '#e5e5e5' } as const;

export const tenths = (coordinate: number): number => Number(coordinate.toFixed(1));

/** Upper bound on the mean width of a letter in subtitles, so that no subtitle is cut off. */
const widthOfLetter = 6.2;

interface PictureProps {
  title: string;
  subtitle: string;
  description: string;
  left: number;
  width: number;
  height: number;
  children: ComponentChildren;
}

/**
 * Standalone SVG picture on white, with title, subtitle, and the alternative text as `desc`. Colours are
 * presentation attributes, because many programs ignore style sheets.
 */
export const Picture = ({
  title,
  subtitle,
  description,
  left,
  width: least,
  height,
  children,
}: PictureProps) => {
  const width = Math.max(least, Math.ceil(2 * left + widthOfLetter * subtitle.length));
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      font-family={fontFamily}
      fill={ink.text}
      role="img"
    >
      <title>{title}</title>
      <desc>{description}</desc>
      <rect width="100%" height="100%" fill="#fff" />
      <text x={left} y={26} font-size={16} font-weight={600}>
        {title}
      </text>
      <text x={left} y={46} font-size={11} fill={ink.soft}>
        {subtitle}
      </text>
      {children}
    </svg>
  );
};
