import { valueAt } from '../../../../core/base/errors/lookup.js';

export interface EvaluationLanguage {
  /** Lower-case name in experiments: `swahili`. */
  readonly name: string;
  /** Code in MGSM, Global-MMLU, MMLU-ProX and XNLI: two letters if ISO 639-1 has the language. */
  readonly code: string;
  readonly flores: string;
  /** ISO 639-2 code, used by African benchmarks. */
  readonly iso3: string;
}

const rows = `
afrikaans af afr_Latn|albanian sq als_Latn|amharic am amh_Ethi|arabic ar arb_Arab|armenian hy hye_Armn
azerbaijani az azj_Latn|basque eu eus_Latn|belarusian be bel_Cyrl|bengali bn ben_Beng|bulgarian bg bul_Cyrl
chichewa ny nya_Latn|chinese zh zho_Hans|croatian hr hrv_Latn|czech cs ces_Latn|dutch nl nld_Latn|english en eng_Latn
estonian et est_Latn|ewe ee ewe_Latn|finnish fi fin_Latn|french fr fra_Latn|georgian ka kat_Geor|german de deu_Latn
greek el ell_Grek|hausa ha hau_Latn|hebrew he heb_Hebr|hindi hi hin_Deva|hungarian hu hun_Latn|igbo ig ibo_Latn
indonesian id ind_Latn|italian it ita_Latn|japanese ja jpn_Jpan|kazakh kk kaz_Cyrl|kinyarwanda rw kin_Latn
korean ko kor_Hang|kyrgyz ky kir_Cyrl|lingala ln lin_Latn|lithuanian lt lit_Latn|luganda lg lug_Latn
macedonian mk mkd_Cyrl|malagasy mg plt_Latn|malay ms zsm_Latn|malayalam ml mal_Mlym|marathi mr mar_Deva
nepali ne npi_Deva|oromo om gaz_Latn orm|persian fa pes_Arab|polish pl pol_Latn|portuguese pt por_Latn
romanian ro ron_Latn|russian ru rus_Cyrl|serbian sr srp_Cyrl|shona sn sna_Latn|sinhala si sin_Sinh|somali so som_Latn
sotho st sot_Latn|spanish es spa_Latn|swahili sw swh_Latn swa|swedish sv swe_Latn|tagalog fil tgl_Latn|tamil ta tam_Taml
telugu te tel_Telu|thai th tha_Thai|turkish tr tur_Latn|twi tw twi_Latn|ukrainian uk ukr_Cyrl|urdu ur urd_Arab
uzbek uz uzn_Latn|vai vai vai_Vaii|vietnamese vi vie_Latn|wolof wo wol_Latn|xhosa xh xho_Latn|yoruba yo yor_Latn
zulu zu zul_Latn`;

export const languages: readonly EvaluationLanguage[] = rows
  .trim()
  .split(/[|\n]/)
  .map((row) => {
    const [name = '', code = '', flores = '', iso3 = flores.slice(0, 3)] = row.split(' ');
    return { name, code, flores, iso3 };
  });

export type Spelling = 'name' | 'code' | 'flores' | 'iso3';

/** Returns languages in the order of `words`, their spellings separated by `|`. */
export const spelledBy = (spelling: Spelling, words: string): readonly EvaluationLanguage[] => {
  const all = new Map(languages.map((language) => [language[spelling], language]));
  return words.split('|').map((word) => valueAt(all, word));
};

export const mgsmLanguages: readonly EvaluationLanguage[] = spelledBy(
  'code',
  'bn|de|en|es|fr|ja|ru|sw|te|th|zh',
);
