/** Matches spaces at which no line may break: after numbers and colons, and around arrows. */
const fixed = /(?<=[\d:→]) (?=\S)| (?=[→%])/g;

/** Breaks text into lines of at most `width`; longer words stay whole. */
export const wrap = (text: string, width: number): string[] => {
  const lines: string[] = [];
  for (const word of text.replace(fixed, '\u00a0').split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => line.replaceAll('\u00a0', ' '));
};
