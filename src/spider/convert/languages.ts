/** What ICU knows about how a language writes dates and numbers. */

/** Tags come from pages, which may have any number of them. */
const REMEMBERED = 200
const MOST_TAG_CHARS = 35

/** The tag as ICU spells it; null if it is none, or ICU does not know the language and would answer for English. */
export function knownLanguage(tag: string): string | null {
  const name = tag.trim().replaceAll('_', '-')
  return name === '' || name.length > MOST_TAG_CHARS ? null : spellingOf(name)
}

/** Remembered: ICU takes 0.1 ms. */
const spellingOf = remembered((name): string | null => {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(name)[0] ?? null
  } catch {
    return null
  }
})

function remembered<Value>(compute: (language: string) => Value): (language: string) => Value {
  const known = new Map<string, Value>()
  return (language) => {
    const value = known.get(language)
    if (value !== undefined) return value
    if (known.size >= REMEMBERED) known.clear()
    const computed = compute(language)
    known.set(language, computed)
    return computed
  }
}

export interface Separators {
  readonly decimal: string
  /** Between thousands; Austria writes a space in numbers and a dot in prices. */
  readonly groups: readonly string[]
}

/**
 * How numbers are written with ASCII digits. Spanish without a country says nothing: Spain writes 1.234,5 and Mexico 1,234.5, and pages of both say `es`.
 */
export const separatorsOf = remembered((language): Separators => {
  if (language === 'es') return { decimal: '', groups: [] }
  const forms = [{}, { style: 'currency', currency: 'EUR' }] as const
  const parts = forms.flatMap((form) =>
    new Intl.NumberFormat(language, { ...form, numberingSystem: 'latn' }).formatToParts(1_234_567.5),
  )
  const valuesOf = (wanted: string) => parts.flatMap(({ type, value }) => (type === wanted ? [value] : []))
  return { decimal: valuesOf('decimal')[0] ?? '', groups: valuesOf('group') }
})

/**
 * Whether the day or the month comes first in 3/4/2026; null if the year does, or if it cannot be said: pages in English come from countries that write
 * 3 April so and from one that writes 4 March so, and often say no more than `en`.
 */
export const dayMonthOrder = remembered((language): 'dmy' | 'mdy' | null => {
  if (language === 'en') return null
  const order = new Intl.DateTimeFormat(language, { ...GREGORIAN, year: 'numeric', month: 'numeric', day: 'numeric' })
    .formatToParts(0)
    .flatMap(({ type }) => (type === 'day' || type === 'month' || type === 'year' ? [type[0]] : []))
    .join('')
  return order === 'dmy' || order === 'mdy' ? order : null
})

const GREGORIAN = { calendar: 'gregory', numberingSystem: 'latn', timeZone: 'UTC' } as const

/** Long and short, alone and after a day: Russian and Greek have another case there. */
const MONTH_FORMS: readonly Intl.DateTimeFormatOptions[] = [
  { month: 'long' },
  { month: 'short' },
  { month: 'long', day: 'numeric' },
  { month: 'short', day: 'numeric' },
]

/** Months (1–12) by each of their names in a language, in the spelling of `monthKey`. */
export const monthsOf = remembered((language): ReadonlyMap<string, number> => {
  const months = new Map<string, number>()
  for (const form of MONTH_FORMS) {
    const format = new Intl.DateTimeFormat(language, { ...GREGORIAN, ...form })
    for (let month = 1; month <= 12; month++) {
      const name = format.formatToParts(Date.UTC(2026, month - 1, 1)).find(({ type }) => type === 'month')?.value ?? ''
      if (isWord(name)) months.set(monthKey(name), month)
    }
  }
  return months
})

/** '3月' and 'tháng 3' are numbers, and one letter is no name. */
function isWord(name: string): boolean {
  return /^[\p{L}\p{M}]{2,}\.?$/u.test(name)
}

/** Without accents, as many pages write them, and without the dot of an abbreviation. */
export function monthKey(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[\p{M}.]/gu, '')
    .toLowerCase()
}
