import { useLayoutEffect, useState } from 'preact/hooks';

type Theme = 'auto' | 'light' | 'dark';

const themes: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: 'auto', label: 'Auto' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

export const ThemeChoice = () => {
  const [theme, setTheme] = useState<Theme>('auto');
  useLayoutEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  return (
    <fieldset class="theme controls">
      <legend class="sr">Colours</legend>
      {themes.map(({ value, label }) => (
        <label key={value} class={theme === value ? 'chosen' : undefined}>
          <input
            type="radio"
            name="theme"
            value={value}
            checked={theme === value}
            onChange={() => setTheme(value)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
};
