/** INCLUDE's domains by language: the tasks of the harness's group `include_base_44_LANG`. */
export const includeDomains: Readonly<Record<string, string>> = {
  albanian: 'arts_humanities business_commerce health_oriented_education social_science stem',
  arabic: 'arts_humanities business_commerce driving_license general_knowledge social_science stem',
  armenian: 'arts_humanities driving_license social_science stem',
  azerbaijani:
    'applied_science arts_humanities business_commerce health_oriented_education social_science stem',
  basque: 'professional_certification',
  belarusian: 'arts_humanities social_science stem',
  bengali: 'arts_humanities general_knowledge professional_certification stem',
  bulgarian: 'arts_humanities social_science stem',
  chinese:
    'applied_science arts_humanities business_commerce driving_license health_oriented_education professional_certification social_science stem',
  croatian: 'arts_humanities social_science stem',
  dutch: 'applied_science arts_humanities health_oriented_education social_science stem',
  estonian: 'applied_science arts_humanities health_oriented_education social_science stem',
  finnish: 'applied_science arts_humanities health_oriented_education social_science stem',
  french: 'arts_humanities driving_license health_oriented_education social_science stem',
  georgian: 'arts_humanities',
  german: 'driving_license social_science stem',
  greek:
    'arts_humanities business_commerce health_oriented_education medical_license professional_certification social_science stem',
  hebrew: 'arts_humanities driving_license',
  hindi:
    'applied_science arts_humanities driving_license general_knowledge health_oriented_education professional_certification social_science stem',
  hungarian: 'applied_science social_science stem',
  indonesian: 'applied_science arts_humanities professional_certification social_science stem',
  italian:
    'applied_science arts_humanities health_oriented_education professional_certification social_science stem',
  japanese: 'driving_license medical_license professional_certification',
  kazakh: 'arts_humanities',
  korean: 'professional_certification social_science',
  lithuanian: 'arts_humanities business_commerce professional_certification social_science stem',
  malay: 'arts_humanities business_commerce social_science',
  malayalam: 'arts_humanities general_knowledge health_oriented_education marine_license social_science stem',
  nepali: 'driving_license professional_certification',
  north_macedonian: 'arts_humanities business_commerce social_science stem',
  persian: 'arts_humanities driving_license professional_certification social_science stem',
  polish: 'professional_certification social_science stem',
  portuguese:
    'applied_science arts_humanities business_commerce health_oriented_education social_science stem',
  russian:
    'applied_science arts_humanities business_commerce driving_license health_oriented_education marine_license social_science stem',
  serbian: 'arts_humanities social_science stem',
  spanish: 'arts_humanities health_oriented_education social_science stem',
  tagalog: 'arts_humanities driving_license',
  tamil: 'general_knowledge stem',
  telugu: 'applied_science arts_humanities social_science stem',
  turkish: 'arts_humanities business_commerce social_science stem',
  ukrainian: 'arts_humanities social_science stem',
  urdu: 'arts_humanities health_oriented_education stem',
  uzbek: 'arts_humanities medical_license social_science stem',
  vietnamese: 'arts_humanities social_science stem',
};
