import { z } from 'zod'
import { ShoalError } from '../errors.js'
import { aFunction, atLeastOne, duration, options } from '../options.js'
import { parseUrl } from '../url/parse-url.js'
import { parseTemplate, type TemplateValues } from '../url/template.js'
import { readTime } from './convert/dates.js'
import { MOST_IN_A_RANGE, type SeedFunction } from './seed-sources.js'

const webUrl = z
  .string()
  .refine((url) => /^https?:$/.test(parseUrl(url)?.protocol ?? ''), 'expected an absolute http or https URL')
const text = z.string().min(1)
const since = z.unknown().transform((value, context) => {
  const at = typeof value === 'string' && /^\d{4}-/.test(value) ? readTime(value) : null
  if (at !== null) return { at }
  const agoMs = duration({ max: YEARS_100_MS }).safeParse(value)
  if (agoMs.success) return { agoMs: agoMs.data }
  context.addIssue("expected a day like '2026-11-01', a time, or a duration like '7d'")
  return z.NEVER
})
const YEARS_100_MS = 100 * 366 * 86_400_000

const listing = { since: since.optional(), route: text.optional() }
const source = z.discriminatedUnion(
  'from',
  [
    options({ from: z.literal('sitemap'), urls: z.array(webUrl), ...listing }),
    options({ from: z.literal('feed'), urls: z.array(webUrl).min(1, 'needs at least one URL'), ...listing }),
    options({ from: z.literal('lines'), file: text }),
    options({ from: z.literal('csv'), file: text, column: z.union([text, atLeastOne]) }),
    options({ from: z.literal('sql'), address: text, query: text }),
    options({
      from: z.literal('range'),
      template: text,
      values: z.record(z.string(), z.union([z.string(), z.array(z.union([z.string(), z.number()]))])),
      max: atLeastOne,
    }).superRefine(({ template, values, max }, context) => {
      try {
        checkedTemplate(template, values, max)
      } catch (error) {
        if (!(error instanceof ShoalError)) throw error
        context.addIssue({ code: 'custom', message: error.message, params: { code: error.code } })
      }
    }),
  ],
  { error: 'expected sitemap(), feed(), lines(), csv(), sql() or range()' },
)

export const seedSources = z.array(source).min(1, 'needs at least one source of seeds')
export const seedFunction = aFunction<SeedFunction>()

export type CheckedSeedSource = z.output<typeof source>

export function checkedTemplate(template: string, values: TemplateValues, max = MOST_IN_A_RANGE) {
  const parsed = parseTemplate(template, values)
  if (parsed.count > max)
    throw new ShoalError('bad_template', `${template.slice(0, 200)}: ${parsed.count} URLs are more than ${max}`)
  return parsed
}
