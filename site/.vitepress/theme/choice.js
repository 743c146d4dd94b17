import { ref } from 'vue';

const key = 'layerloom-language';

/** The language that the reader chose last, in whichever group of tabs: all groups follow it. */
export const choice = ref();

/** What an earlier visit chose, if the browser keeps that for this site. */
export const recall = () => {
  try {
    choice.value ??= localStorage.getItem(key) ?? undefined;
  } catch (error) {
    console.info('the choice of a language is not kept:', error);
  }
};

export const choose = (language) => {
  choice.value = language;
  try {
    localStorage.setItem(key, language);
  } catch (error) {
    console.info('the choice of a language is not kept:', error);
  }
};
