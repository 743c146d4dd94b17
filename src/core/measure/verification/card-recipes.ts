import { join } from 'node:path';
import { recipeBlock } from '../../methods/recipe/recorded-recipe.js';
import { cardName } from '../../models/checkpoint/files/file-names.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
import type { VerifiedFile } from './verification.js';
import { notAFile } from './verify-files.js';

/** Matches a code fence, even in quotations and lists. */
const fenceLine = /^[ \t>]*(?:[-*+] +)?(?<fence>`{3,}|~{3,})(?<info>.*)$/;

const keyOfRecipe = /^[ \t{]*["']?(method|merge_method|experts)["']?[ \t]*:/;

/**
 * Returns the card's text, or why it is unreadable.
 *
 * @throws READ_FAILED
 */
export const readCard = async (directory: string): Promise<{ readonly text: string } | VerifiedFile> => {
  const path = join(directory, cardName);
  return readSmallFile(path).then(
    (card) => ({ text: card.toString() }),
    (cause: unknown) => notAFile(cardName, path, cause),
  );
};

/**
 * Returns an entry for the model card if its recipes differ from the output's.
 *
 * @throws READ_FAILED
 */
export const compareCard = async (directory: string, recipe: string | undefined): Promise<VerifiedFile[]> => {
  const card = await readCard(directory);
  // If the record lists the card, its check reports the missing card.
  if ('state' in card) return card.state === 'missing' ? [] : [card];
  const reason = faultOfCard(card.text, recipe);
  return reason === undefined ? [] : [{ file: cardName, bytes: null, state: 'different', reason }];
};

/**
 * Returns how a card's recipes differ from the output's. Cards may be edited, but must not misstate how the
 * weights were made.
 *
 * @param recipe the recipe as cards have it, between fences; undefined if the output has none
 * @returns a phrase after the card's name; undefined if recipes agree
 */
const faultOfCard = (card: string, recipe: string | undefined): string | undefined => {
  const wanted = recipe?.trimEnd();
  const isOther = (text: string): boolean => text.replaceAll('\r\n', '\n').trimEnd() !== wanted;
  // Checks the block that `layerloom merge README.md` would use, whatever it contains.
  const used = recipeBlock(card);
  if (used !== undefined && isOther(used)) return 'has another recipe than the one that made the output';
  return blocksOf(card).some((block) => isRecipe(block) && isOther(block.join('\n')))
    ? 'has a second recipe, by which the output was not made'
    : undefined;
};

/** True if lines are a recipe: a line with the least indent begins with a recipe's key. */
const isRecipe = (lines: readonly string[]): boolean => {
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  const least = indents.reduce((former, indent) => Math.min(former, indent), Number.POSITIVE_INFINITY);
  return lines.some((line) => line.search(/\S/) === least && keyOfRecipe.test(line));
};

/** Returns the lines in each fenced block. An unclosed block extends to the end. */
const blocksOf = (card: string): string[][] => {
  const blocks: string[][] = [];
  let open: { readonly fence: string; readonly from: number } | undefined;
  const lines = card.split(/\r?\n/);
  const close = (to: number): void => {
    if (open !== undefined) blocks.push(lines.slice(open.from, to).map(unquoted));
    open = undefined;
  };
  for (const [index, line] of lines.entries()) {
    const { fence, info = '' } = fenceLine.exec(line)?.groups ?? {};
    if (fence === undefined) continue;
    if (open === undefined) open = { fence, from: index + 1 };
    else if (fence.startsWith(open.fence) && info.trim() === '') close(index);
  }
  close(lines.length);
  return blocks;
};

const unquoted = (line: string): string => line.replace(/^[ \t]*>[ \t>]*/, '');
