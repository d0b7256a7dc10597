/* bcryptprimitives.dll, which Go programs load at their start and wine 8 does not have. */
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG); /* RtlGenRandom */
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
	ULONG n;
	for (; size > 0; data += n, size -= n)
		if (!SystemFunction036(data, n = size > 65536 ? 65536 : (ULONG)size)) return FALSE;
	return TRUE;
}
