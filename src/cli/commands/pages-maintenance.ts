import type { Command } from 'commander'
import { EXIT, ShoalError } from '../../errors.js'
import type { PackCheck, PackMaintenance, PackProgress } from '../../store/pack-maintenance.js'
import { confirm } from '../confirm.js'
import { guide } from '../help.js'
import { acts, programName, type Session } from '../session.js'
import { bytes, count, plural } from '../terminal/format.js'
import { shownProgress } from '../views/work-progress.js'

/** Of a list that may be long, on a terminal. */
const SHOWN = 10

export function checkCommand(pages: Command): void {
  const check = pages
    .command('check')
    .description('read every raw page: count packs, pages and bytes, and find what is damaged or belongs to no page')
    .option(
      '--delete',
      'delete packs without a page, and forget damaged pages, so that they are stored when they come again',
      false,
    )
    .option('--yes', 'do not ask', false)
    .action(
      acts(async (session, flags: { delete: boolean; yes: boolean }) =>
        withMaintenance(session, async (maintenance) => {
          const found = await withProgress(session, 'checking', (onProgress) => maintenance.check(onProgress))
          const idle = found.unreferenced.length + found.damaged.length === 0
          const question = `Delete ${plural(found.unreferenced.length, 'pack')} and forget ${plural(found.damaged.length, 'page')}?`
          if (!session.json) show(session, found)
          const deleted = flags.delete && !idle && (await confirm(question, flags.yes))
          if (deleted) await maintenance.clean(found)
          if (session.json) session.output.json(asJson(found, deleted))
          else if (deleted) session.output.note('deleted')
          else if (!idle && !flags.delete) {
            session.output.note(
              `delete and forget: ${programName(process.env)} pages check --delete${session.sameDatabase}`,
            )
          }
          return found.damaged.length > 0 && !deleted ? EXIT.backend.code : EXIT.ok.code
        }),
      ),
    )
  guide(check, {
    examples: [
      ['pages check', 'what there is, and whether all of it can be read; 4 when a page is damaged'],
      ['pages check --delete --yes --json', 'cleaned by a program'],
    ],
  })
}

export function compactCommand(pages: Command): void {
  const compact = pages
    .command('compact')
    .description('write the pages of small packs into large ones; pages stay readable throughout')
    .action(
      acts(async (session) =>
        withMaintenance(session, async (maintenance) => {
          const done = await withProgress(session, 'reading', (onProgress) => maintenance.compact(onProgress))
          if (session.json) session.output.json(done)
          else if (done.pages === 0) session.output.print(`nothing to do: ${plural(done.packsAfter, 'pack')}`)
          else {
            session.output.print(
              `${plural(done.packsBefore, 'pack')} became ${count(done.packsAfter)}: ${plural(done.pages, 'page')} moved, ` +
                `${bytes(done.bytesBefore)} became ${bytes(done.bytesAfter)}`,
            )
          }
          return EXIT.ok.code
        }),
      ),
    )
  guide(compact, {
    examples: [['pages compact', 'once a day, where many small crawls or an S3 bucket leave many small packs']],
  })
}

async function withMaintenance(
  session: Session,
  work: (maintenance: PackMaintenance) => Promise<number>,
): Promise<number> {
  return session.withResults(({ pages }) => {
    if (pages.maintenance === null) throw new ShoalError('not_found', 'raw pages in memory are gone with their process')
    return work(pages.maintenance)
  })
}

async function withProgress<Result>(
  session: Session,
  doing: string,
  work: (onProgress: (progress: PackProgress) => void) => Promise<Result>,
): Promise<Result> {
  const progress = shownProgress(session, 'packs', null)
  try {
    return await work(({ packs, of }) => progress.tell(packs, doing, of))
  } finally {
    progress.stop()
  }
}

function show({ output }: Session, found: PackCheck): void {
  const { packs, pages, pageBytes, storedBytes, idleBytes, unreferenced, damaged } = found
  output.print(`${plural(pages, 'page')} in ${plural(packs, 'pack')}: ${bytes(pageBytes)} in ${bytes(storedBytes)}`)
  if (idleBytes > 0) output.print(`${bytes(idleBytes)} belong to no page`)
  if (unreferenced.length > 0) {
    output.print(`${plural(unreferenced.length, 'pack')} without a page`)
    for (const { where } of unreferenced.slice(0, SHOWN)) output.print(`  ${where}`)
  }
  output.print(damaged.length === 0 ? 'every page can be read' : `${plural(damaged.length, 'page')} cannot be read`)
  for (const { hash, pack } of damaged.slice(0, SHOWN)) output.print(`  sha256:${hash} in ${pack}`)
}

function asJson({ unreferenced, damaged, ...totals }: PackCheck, deleted: boolean): Record<string, unknown> {
  return {
    ...totals,
    unreferenced: unreferenced.length,
    damaged: damaged.length,
    unreferencedPacks: unreferenced.map(({ where }) => where),
    damagedPages: damaged.map(({ hash }) => `sha256:${hash}`),
    deleted,
  }
}
