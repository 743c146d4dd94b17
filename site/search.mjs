/**
 * Options of the site's search; the rest are VitePress's. Pages for users come before single API names and pages for
 * contributors. The function is sent to the browser as text, so that it uses nothing from outside.
 */
export const searchOptions = {
  fuzzy: 0.2,
  prefix: true,
  boost: { title: 4, text: 2, titles: 1 },
  boostDocument: (id) => (/\/(reference\/api|test|architecture|contributing)/.test(id) ? 0.3 : 1),
};
