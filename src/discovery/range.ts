import type { SeedSource } from '../coordinator/seed-source.js'
import { checkedTemplate } from '../spider/seed-source-schema.js'
import type { TemplateValues } from '../url/template.js'

/** Expanded one by one, as the queue accepts them. */
export function rangeSource(range: {
  readonly template: string
  readonly values: TemplateValues
  readonly max: number
}): SeedSource {
  const { template, values, max } = range
  const parsed = checkedTemplate(template, values, max)
  return {
    name: `range ${JSON.stringify([template, values])}`,
    label: `range ${template}`,
    entries: () => parsed.urls(),
  }
}
