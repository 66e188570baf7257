/** The tables of a store on a server, seen by who looks after them. */
export interface StoreMaintenance {
  /** What this version of Shoal would change, in order; refuses tables that a newer one has changed. */
  pending(): Promise<readonly PendingMigration[]>
  /** Changes it, all or nothing; answers what was done. `onBegin` before each, with how many were done before it. */
  migrate(onBegin?: MigrationBegins): Promise<readonly PendingMigration[]>

  retention(): Promise<RetentionRule>
  setRetention(rule: RetentionRule): Promise<void>
  /** Oldest first: the time partitions, and those that were taken out and not dropped yet. */
  partitions(): Promise<readonly PartitionInfo[]>
  /** Makes the partitions of the days to come. */
  makeAhead(now: number): Promise<readonly string[]>
  /** Takes a partition out of its table, while others write to it. Nothing of it is lost yet. */
  detach(partition: PartitionInfo): Promise<void>
  /** The rows of a partition that was taken out, in the order in which they lie. */
  rows(partition: PartitionInfo): AsyncIterable<Readonly<Record<string, unknown>>>
  drop(partition: PartitionInfo): Promise<void>
  /** Work that one process at a time does; false when another is at it. */
  alone(work: () => Promise<void>): Promise<boolean>
  about(): Promise<ServerAbout>
  close(): Promise<void>
}

export interface ServerAbout {
  readonly version: string
  /** Settings with which rows that were acknowledged can be lost when the machine goes down. */
  readonly undurable: readonly string[]
  readonly connections: { readonly used: number; readonly most: number }
  /** Of the whole database. */
  readonly bytes: number
}

export type MigrationBegins = (migration: PendingMigration, done: number, of: number) => void

export interface PendingMigration {
  readonly number: number
  readonly name: string
  /** Workers of the version before cannot go on after it. */
  readonly breaking: boolean
  readonly sql: string
}

export type PartitionUnit = 'day' | 'week' | 'month'
export const PARTITION_UNITS: readonly PartitionUnit[] = ['day', 'week', 'month']
export type PartitionedTable = 'fetches' | 'record_versions'

export interface PartitionInfo {
  readonly table: PartitionedTable
  readonly name: string
  /** Of this very table, in whichever database: late rows may make another of the same name after it was dropped. */
  readonly id: string
  /** From `from` up to and without `to`; null for one that was taken out. */
  readonly range: { readonly from: number; readonly to: number } | null
  /** Shoal has begun to take it out. What somebody else took out is his. */
  readonly retired: boolean
  /** As the server estimates them. */
  readonly rows: number
  readonly bytes: number
}

export interface RetentionRule {
  readonly unit: PartitionUnit
  /** A partition goes when its youngest row is older than this; null: never. */
  readonly fetchesMs: number | null
  readonly versionsMs: number | null
  /** Folder or bucket into which a partition is written before it is dropped; null: it is dropped. */
  readonly archive: string | null
}

/** What may go now: what lies wholly before the time of the rule, and what was begun and not ended. */
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
