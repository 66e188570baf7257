import { ShoalError } from '../../errors.js'
import type { Archive } from '../maintenance.js'
import { expired, type PartitionInfo, type StoreMaintenance } from '../maintenance.js'
import { partitionFile } from './partition-file.js'

export interface Retired extends Pick<PartitionInfo, 'table' | 'name' | 'rows' | 'bytes'> {
  /** Where its rows are now; null: they are gone. */
  readonly archived: string | null
}

/**
 * Creates the partitions of the days to come, then detaches, archives and drops what the rule says, oldest first, while writers continue. Ended at any
 * point it can be run again: a partition that was taken out is dropped only after its file is whole. `archive` is null when the rule names
 * none. False: another process is at it.
 */
export async function applyRetention(
  maintenance: StoreMaintenance,
  archive: Archive | null,
  now: number,
  onRetired: (retired: Retired) => void,
  signal: AbortSignal = new AbortController().signal,
): Promise<boolean> {
  const rule = await maintenance.retention()
  return maintenance.alone(async () => {
    await maintenance.makeAhead(now)
    for (const partition of expired(await maintenance.partitions(), rule, now)) {
      if (signal.aborted) return
      await maintenance.detach(partition)
      const archived = archive === null ? null : await archivePartition(maintenance, archive, partition, signal)
      await maintenance.drop(partition)
      const { table, name, rows, bytes } = partition
      onRetired({ table, name, rows, bytes, archived })
    }
  })
}

function archivePartition(
  maintenance: StoreMaintenance,
  archive: Archive,
  partition: PartitionInfo,
  signal: AbortSignal,
): Promise<string> {
  const { name, bytes } = partitionFile(partition, maintenance.rows(partition))
  return archive.write(name, unlessAborted(bytes, signal))
}

/** Half a file is no file: the next run starts it again. */
async function* unlessAborted(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    if (signal.aborted) throw new ShoalError('interrupted', 'stopped before the partition was archived')
    yield piece
  }
}
