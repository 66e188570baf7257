import { monthKey, monthsOf } from './languages.js'

/** Languages whose months are known on every page: many pages do not say in which language they are, or say `en` of all of them. */
const LANGUAGES =
  'de fr es it pt nl da sv nb fi pl cs sk hu ro bg ru uk el tr hr sl sr sr-Latn bs lt lv et ca gl eu is id ms th ar he fa hi'.split(
    ' ',
  )

/** Null: of different months in different languages, as `listopad`, which is October in Croatian and November in Polish. */
let everywhere: ReadonlyMap<string, number | null> | null = null

/** Takes some 50 ms, once, with the first month that is neither English nor of the page's language. */
function inAllLanguages(): ReadonlyMap<string, number | null> {
  const months = new Map<string, number | null>()
  for (const [name, month] of LANGUAGES.flatMap((language) => [...monthsOf(language)])) {
    const known = months.get(name)
    months.set(name, known === undefined || known === month ? month : null)
  }
  return months
}

/** The month (1–12) that a word names; null if it is none, or if that depends on a language that is not known. */
export function monthNamed(word: string, language: () => string | null): number | null {
  const name = monthKey(word)
  const english = monthsOf('en').get(name) ?? monthsOf('en-GB').get(name)
  if (english !== undefined) return english
  const own = language()
  const month = own === null ? undefined : monthsOf(own).get(name)
  if (month !== undefined) return month
  everywhere ??= inAllLanguages()
  return everywhere.get(name) ?? null
}
