/** Opens what is folded while the page is printed. */
export const printing = (): void => {
  let folded: HTMLDetailsElement[] = [];
  addEventListener('beforeprint', () => {
    folded = [...document.querySelectorAll('details')].filter(({ open }) => !open);
    for (const details of folded) details.open = true;
  });
  addEventListener('afterprint', () => {
    for (const details of folded) details.open = false;
  });
};
