import { ShoalError } from '../../errors.js'
import { fileOf, type Session } from '../session.js'
import { clean } from '../terminal/clean.js'
import { count, plural } from '../terminal/format.js'

const DAMAGE_SHOWN = 10

/** `recover --into`: what can be read of a damaged SQLite file, as a new one. */
export async function recoverFile({ settings, output, json }: Session, into: string): Promise<void> {
  const from = fileOf(settings.queue)
  if (from === null)
    throw new ShoalError('usage', '--into copies a SQLite file, and --queue names a server', {
      hint: 'Name the damaged file: `--queue sqlite:<file>`.',
    })
  const { salvage } = await import('../../embedded/salvage.js')
  const salvaged = salvage(from, into)
  if (json) return output.json({ from, into, ...salvaged })
  const { saved, damaged, unreadable, queueKept } = salvaged
  const losses = [...unreadable, ...damaged]
  output.print(`${clean(into)}: ${plural(saved.records ?? 0, 'record')} saved`)
  output.table(
    ['table', 'rows'],
    Object.entries(saved).map(([table, rows]) => [table, count(rows)]),
  )
  for (const loss of losses.slice(0, DAMAGE_SHOWN)) output.note(`lost: ${clean(loss)}`)
  if (losses.length > DAMAGE_SHOWN) output.note(`… and ${count(losses.length - DAMAGE_SHOWN)} more`)
  if (!queueKept)
    output.note(
      `the queue was damaged and is left out: rebuild each unfinished crawl with \`shoal recover <spider> --queue sqlite:${clean(into)}\``,
    )
}
