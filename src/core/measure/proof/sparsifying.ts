/** Methods that keep the largest changes; programs break ties of equal magnitude differently. */
export const sparsifying =
  /^(ties|breadcrumbs|breadcrumbs_ties|arcee_fusion|sce|dare_ties|dare_linear|della|della_linear)$/;

/** Most elements at such a method's cut, as a share. */
export const mostAtCut = 0.03;
