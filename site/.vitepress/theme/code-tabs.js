import { defineComponent, h, nextTick, onMounted, ref, useId } from 'vue';
import { tabNames } from '../../tabs.mjs';
import { choice, choose, recall } from './choice.js';

const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

/** The tab that a key leads to, as ARIA's pattern of tabs has it: arrows go around the ends. */
const next = (languages, shown, step) => {
  if (!Number.isFinite(step)) return languages.at(step < 0 ? 0 : -1);
  return languages[(languages.indexOf(shown) + step + languages.length) % languages.length];
};

/** Blocks of the same in several languages, one slot each, of which the chosen one is shown. */
export const CodeTabs = defineComponent({
  props: { languages: { type: String, required: true } },
  setup(props, { slots }) {
    const id = useId();
    // Without JavaScript, and until it runs, all blocks are there under their names.
    const live = ref(false);
    onMounted(() => {
      recall();
      live.value = true;
    });

    const move = async (event, languages, shown) => {
      const step = steps[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const list = event.currentTarget;
      choose(next(languages, shown, step));
      await nextTick();
      list.querySelector('[aria-selected="true"]')?.focus();
    };

    const tab = (language, shown) =>
      h(
        'button',
        {
          key: language,
          id: `${id}-tab-${language}`,
          type: 'button',
          role: 'tab',
          'aria-selected': language === shown,
          'aria-controls': `${id}-${language}`,
          tabindex: language === shown ? 0 : -1,
          onClick: () => choose(language),
        },
        tabNames[language],
      );

    const panel = (language, shown) =>
      h(
        'div',
        {
          key: language,
          id: `${id}-${language}`,
          ...(live.value && { role: 'tabpanel', 'aria-labelledby': `${id}-tab-${language}` }),
          hidden: live.value && language !== shown,
        },
        [live.value ? null : h('p', { class: 'code-tabs-name' }, tabNames[language]), slots[language]?.()],
      );

    return () => {
      const languages = props.languages.split(' ');
      const shown = languages.includes(choice.value) ? choice.value : languages[0];
      const list = { role: 'tablist', 'aria-label': 'Language of the example' };
      return h('div', { class: 'code-tabs' }, [
        live.value
          ? h(
              'div',
              { ...list, onKeydown: (event) => move(event, languages, shown) },
              languages.map((language) => tab(language, shown)),
            )
          : null,
        ...languages.map((language) => panel(language, shown)),
      ]);
    };
  },
});
