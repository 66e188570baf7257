import { type BigIntStats, statSync } from 'node:fs'

export type FileChange = 'deleted' | 'replaced' | 'emptied'

/** What distinguishes a file from another that has its name later. */
export type FileMark = Pick<BigIntStats, 'dev' | 'ino' | 'size'>

/** What happened to the file at a path, from its mark when it was opened and its mark now. */
export function fileChange(opened: FileMark, now: FileMark | null): FileChange | null {
  if (now === null) return 'deleted'
  if (now.dev !== opened.dev || now.ino !== opened.ino) return 'replaced'
  // A write-ahead log may shrink to nothing; a database with tables in it cannot.
  return opened.size > 0n && now.size === 0n ? 'emptied' : null
}

/**
 * The files of an open database: SQLite keeps writing to the open files when they are deleted or another file takes their name, and reports nothing. The log
 * counts too: another process would create a new one, and the two would overwrite each other's pages.
 */
export class WatchedFiles {
  readonly #marks: ReadonlyMap<string, FileMark>

  /** To be created when the database has been written to: its log exists from then on until the last connection closes. */
  constructor(database: string) {
    const marks = [database, `${database}-wal`].flatMap((path) => {
      const mark = markOf(path)
      // Only the database itself is judged by its size.
      return mark === null ? [] : [[path, path === database ? mark : { ...mark, size: 0n }] as const]
    })
    this.#marks = new Map(marks)
  }

  change(): { readonly path: string; readonly change: FileChange } | null {
    for (const [path, mark] of this.#marks) {
      const change = fileChange(mark, markOf(path))
      if (change !== null) return { path, change }
    }
    return null
  }
}

/** Null also for a path that cannot be reached any more, because a folder on the way is gone or closed. */
function markOf(path: string): FileMark | null {
  try {
    const { dev, ino, size } = statSync(path, { bigint: true })
    return { dev, ino, size }
  } catch {
    return null
  }
}
