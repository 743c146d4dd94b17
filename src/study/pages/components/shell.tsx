import type { ComponentChildren } from 'preact';
import { ThemeChoice } from './theme.js';

interface ShellProps {
  /** True for a page without a script. */
  isStill?: boolean;
  kicker: ComponentChildren;
  title: ComponentChildren;
  about: ComponentChildren;
  contents?: ComponentChildren;
  footer: ComponentChildren;
  children: ComponentChildren;
}

export const Shell = ({ isStill = false, kicker, title, about, contents, footer, children }: ShellProps) => (
  <div class={isStill ? 'shell study' : 'shell'}>
    <header class="top">
      <div>
        <p class="kicker">{kicker}</p>
        <h1>{title}</h1>
        {about}
      </div>
      {isStill ? null : <ThemeChoice />}
    </header>
    {contents}
    <main>{children}</main>
    <footer>
      {footer}
      {isStill ? null : ' One file, which needs no network.'}
    </footer>
  </div>
);
