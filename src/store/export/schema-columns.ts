import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { ColumnType, FieldColumn } from '../kind-views.js'

type JsonSchema = Readonly<Record<string, unknown>>

/**
 * The columns of records that fit the schema, where its library can say what they look like (Standard JSON Schema; zod can). A type of
 * null: the schema does not say. Null: it says nothing, or the records are not objects.
 */
export function schemaColumns(
  schema: StandardSchemaV1,
): { readonly field: string; readonly type: ColumnType | null }[] | null {
  const described = jsonSchemaOf(schema)
  const properties = described?.type === 'object' ? objectOf(described.properties) : null
  if (described === null || properties === null) return null
  return Object.entries(properties).map(([field, property]) => ({ field, type: typeOf(property, described) }))
}

/** What the schema does not say is taken from the records. */
export function withObserved(
  columns: readonly { readonly field: string; readonly type: ColumnType | null }[],
  observed: readonly FieldColumn[],
): FieldColumn[] {
  const seen = new Map(observed.map(({ field, type }) => [field, type]))
  return columns.map(({ field, type }) => ({ field, type: type ?? seen.get(field) ?? 'json' }))
}

function jsonSchemaOf(schema: StandardSchemaV1): JsonSchema | null {
  const standard: Partial<StandardJSONSchemaV1.Props> = schema['~standard']
  try {
    // By default zod refuses a whole schema because of one date in it.
    const options = { target: 'draft-2020-12', libraryOptions: { unrepresentable: 'any' } }
    return objectOf(standard.jsonSchema?.output(options))
  } catch {
    return null
  }
}

const TYPES: Readonly<Record<string, ColumnType>> = {
  string: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  array: 'json',
  object: 'json',
}

function typeOf(property: unknown, root: JsonSchema): ColumnType | null {
  const described = followed(objectOf(property), root)
  if (described === null) return null
  const parts = described.anyOf ?? described.oneOf
  if (Array.isArray(parts))
    return widest(parts.filter((part) => objectOf(part)?.type !== 'null').map((part) => typeOf(part, root)))
  const names = (Array.isArray(described.type) ? described.type : [described.type]).filter((name) => name !== 'null')
  if (names.length === 1 && names[0] === 'string' && described.format === 'date-time') return 'timestamp'
  return widest(names.map((name) => TYPES[String(name)] ?? null))
}

function widest(types: readonly (ColumnType | null)[]): ColumnType | null {
  const [first = null, ...others] = new Set(types)
  if (others.length === 0 || types.includes(null)) return others.length === 0 ? first : null
  return types.every((type) => type === 'integer' || type === 'number') ? 'number' : 'json'
}

/** One step, inside the same document: what goes further or elsewhere is not known. */
function followed(described: JsonSchema | null, root: JsonSchema): JsonSchema | null {
  const name = typeof described?.$ref === 'string' ? /^#\/\$defs\/([^/]+)$/.exec(described.$ref)?.[1] : undefined
  return name === undefined ? described : objectOf(objectOf(root.$defs)?.[name])
}

function objectOf(value: unknown): JsonSchema | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonSchema) : null
}
