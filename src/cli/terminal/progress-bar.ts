import type { Style } from './style.js'

/** How far something is; the same for everything that takes time. */
export function progressBar(part: number, whole: number, style: Style, width = 32): string {
  const filled = whole === 0 ? 0 : Math.min(width, Math.floor((part / whole) * width))
  return style.green('━'.repeat(filled)) + style.dim('─'.repeat(width - filled))
}
