import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { DeclaredField, DeclaredRoute } from '../quality/match-tally.js'
import type { CheckedRoute } from './definition-schema.js'
import type { FieldDefinition } from './fields.js'
import type { RecordKind } from './spider.js'

/** Longer names are data, and longer selectors do not fit into the key of a database. */
const LONGEST_NAME = 128
const LONGEST_SELECTOR = 256

/** What a route says it will find: the fields of its record, and those of the schemas of all kinds, because a handler may produce any of them. */
export function declaredRoute(
  name: string,
  { follow, record }: Pick<CheckedRoute, 'follow' | 'record'>,
  kinds: ReadonlyMap<string, Pick<RecordKind, 'schema'>>,
): DeclaredRoute {
  const fields = new Map<string, DeclaredField[]>()
  for (const [kind, { schema }] of kinds) {
    const selectors = new Map(record?.kind === kind ? Object.entries(record.fields ?? {}) : [])
    const names = new Set([...selectors.keys(), ...schemaFields(schema)])
    const declared = [...names].filter((field) => field.length <= LONGEST_NAME)
    fields.set(
      kind,
      declared.map((field) => ({ name: field, selector: selectorOf(selectors.get(field)) })),
    )
  }
  return { name, rules: follow.map(({ links }) => shortened(links)), each: shortened(record?.each ?? ''), fields }
}

/** The names in an object schema of zod or valibot. Of a schema that transforms its value, or of another library, nothing is known. */
function schemaFields(schema: StandardSchemaV1 | null): string[] {
  const { shape, entries } = (schema ?? {}) as { readonly shape?: unknown; readonly entries?: unknown }
  const named = shape ?? entries
  return typeof named === 'object' && named !== null ? Object.keys(named) : []
}

function selectorOf(field: FieldDefinition | undefined): string {
  if (field === undefined) return ''
  return shortened(typeof field === 'string' ? field : (field.select ?? field.path ?? ''))
}

function shortened(selector: string): string {
  return selector.length <= LONGEST_SELECTOR ? selector : `${selector.slice(0, LONGEST_SELECTOR - 1)}…`
}
