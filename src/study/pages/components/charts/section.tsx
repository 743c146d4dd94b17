import type { ComponentChildren } from 'preact';
import { saveSvg } from '../data/download.js';

type SectionProps = { id: string; title: string; lead?: string | undefined; children: ComponentChildren };

export const Section = ({ id, title, lead, children }: SectionProps) => (
  <section id={id} aria-labelledby={`${id}-title`}>
    <h2 id={`${id}-title`}>{title}</h2>
    {lead === undefined ? null : <p class="lead">{lead}</p>}
    {children}
  </section>
);

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (string | { readonly value: string; readonly label: string })[];
  choose: (value: string) => void;
}

export const Choice = ({ label, value, options, choose }: ChoiceProps) => (
  <label class="choice">
    <span>{label}</span>
    <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
      {options
        .map((option) => (typeof option === 'string' ? { value: option, label: option } : option))
        .map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
    </select>
  </label>
);

/** Table or picture that may be wider than the screen. It takes focus, so that the keyboard can scroll it. */
export const Wide = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: without focus the keyboard could not scroll it.
  <section class="scroll" tabIndex={0} aria-label={label}>
    {children}
  </section>
);

export const Caption = ({ children }: { children: ComponentChildren }) => (
  <caption>
    <span>{children}</span>
  </caption>
);

export const SaveSvg = ({ name }: { name: string }) => (
  <button
    type="button"
    class="controls save"
    aria-label={`Download SVG of ${name}`}
    onClick={({ currentTarget: { previousElementSibling: picture } }) => picture && saveSvg(picture, name)}
  >
    SVG
  </button>
);

interface TableProps {
  label: string;
  caption?: ComponentChildren;
  heads: readonly string[];
  /** Rows; headings are the first cells. */
  rows: readonly (readonly ComponentChildren[])[];
}

export const Table = ({ label, caption, heads, rows }: TableProps) => (
  <Wide label={label}>
    <table>
      {caption === undefined ? null : <Caption>{caption}</Caption>}
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([head, ...cells], row) => (
          <tr key={row}>
            <th scope="row">{head}</th>
            {cells.map((cell, column) => (
              <td key={column}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </Wide>
);

export const Lines = ({ of, kind }: { of: readonly string[]; kind?: string }) => (
  <ul class={kind}>
    {of.map((line) => (
      <li key={line}>{line}</li>
    ))}
  </ul>
);

interface SavedFigureProps {
  title: string;
  label: string;
  name: string;
  width: number;
  height: number;
  children: ComponentChildren;
}

/** Picture with a title and a button that saves it. */
export const SavedFigure = ({ title, label, name, children, ...size }: SavedFigureProps) => (
  <figure>
    <figcaption>
      <b>{title}</b>
    </figcaption>
    <svg viewBox={`0 0 ${size.width} ${size.height}`} {...size} role="img" aria-label={label}>
      {children}
    </svg>
    <SaveSvg name={name} />
  </figure>
);
