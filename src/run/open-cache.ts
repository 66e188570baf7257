import type { Clock } from '../clock.js'
import type { CacheSettings } from '../config.js'
import { type CacheSize, clearFolder, prepareFolder, sizeOfFolder } from '../fetch/cache/cache-folder.js'
import { type FolderCache, openResponseCache } from '../fetch/cache/response-cache.js'
import type { Log } from '../log.js'

/** Creates the folder before the first page, so that one that cannot be used is reported now. Answers what was deleted; null: nothing was to be. */
export async function prepareCache({ folder }: CacheSettings, clear: boolean): Promise<CacheSize | null> {
  const cleared = clear ? await clearFolder(folder) : null
  await prepareFolder(folder)
  return cleared
}

/** For the folder that `prepareCache` has prepared. */
export function openCache(settings: CacheSettings, clock: Clock, log: Log): FolderCache {
  const onUnwritable = (reason: string) => log.warn('cache.unwritable', { folder: settings.folder, reason })
  return openResponseCache({ ...settings, clock, onUnwritable })
}

export function cacheSize(folder: string): Promise<CacheSize> {
  return sizeOfFolder(folder)
}
