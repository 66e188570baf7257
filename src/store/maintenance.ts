/** Maintenance of the tables of a store on a server. */
export interface StoreMaintenance {
  /** Missing migrations, in order; refuses tables that a newer version has changed. */
  pending(): Promise<readonly PendingMigration[]>
  /** Applies them, all or nothing, and returns what was applied. `onBegin` is called before each, with how many were done before it. */
  migrate(onBegin?: MigrationBegins): Promise<readonly PendingMigration[]>

  retention(): Promise<RetentionRule>
  setRetention(rule: RetentionRule): Promise<void>
  /** Oldest first: the time partitions, and those detached but not dropped yet. */
  partitions(): Promise<readonly PartitionInfo[]>
  /** Creates the partitions of the days to come. */
  makeAhead(now: number): Promise<readonly string[]>
  /** Detaches a partition from its table while others write to it. Its rows are still there. */
  detach(partition: PartitionInfo): Promise<void>
  /** The rows of a detached partition, in physical order. */
  rows(partition: PartitionInfo): AsyncIterable<Readonly<Record<string, unknown>>>
  drop(partition: PartitionInfo): Promise<void>
  /** Runs work that one process at a time may do; false when another is doing it. */
  alone(work: () => Promise<void>): Promise<boolean>
  about(): Promise<ServerAbout>
  close(): Promise<void>
}

export interface ServerAbout {
  readonly version: string
  /** Settings with which acknowledged rows can be lost when the machine crashes. */
  readonly undurable: readonly string[]
  readonly connections: { readonly used: number; readonly most: number }
  /** Of the whole database. */
  readonly bytes: number
}

export type MigrationBegins = (migration: PendingMigration, done: number, of: number) => void

export interface PendingMigration {
  readonly number: number
  readonly name: string
  /** Workers of the previous version cannot work after it. */
  readonly breaking: boolean
  readonly sql: string
}

export type PartitionUnit = 'day' | 'week' | 'month'
export const PARTITION_UNITS: readonly PartitionUnit[] = ['day', 'week', 'month']
export type PartitionedTable = 'fetches' | 'record_versions'

export interface PartitionInfo {
  readonly table: PartitionedTable
  readonly name: string
  /** Of this very table, in whichever database: late rows may create another of the same name after it was dropped. */
  readonly id: string
  /** From `from` up to and without `to`; null for a detached one. */
  readonly range: { readonly from: number; readonly to: number } | null
  /** Shoal has started to detach it. What somebody else detached is left alone. */
  readonly retired: boolean
  /** As the server estimates them. */
  readonly rows: number
  readonly bytes: number
}

export interface RetentionRule {
  readonly unit: PartitionUnit
  /** A partition is dropped when its newest row is older than this; null: never. */
  readonly fetchesMs: number | null
  readonly versionsMs: number | null
  /** Folder or bucket into which a partition is written before it is dropped; null: it is dropped. */
  readonly archive: string | null
}

/** What can be dropped now: partitions entirely before the limit of the rule, and those whose removal was started and not finished. */
export function expired(partitions: readonly PartitionInfo[], rule: RetentionRule, now: number): PartitionInfo[] {
  const keepMs = { fetches: rule.fetchesMs, record_versions: rule.versionsMs }
  return partitions.filter(({ table, range, retired }) => {
    const limit = keepMs[table]
    return retired || (range !== null && limit !== null && range.to <= now - limit)
  })
}

/** Where rows go when they leave the store for good. */
export interface Archive {
  /** Writes a file of these rows, and resolves with its path when it is complete. An older file of that name is replaced: it holds the same rows. */
  write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<string>
  close(): Promise<void>
}
