#include "textflag.h"

// func socket32() int32
TEXT ·socket32(SB), NOSPLIT, $0-4
	MOVL $359, AX // socket
	MOVL $2, BX   // AF_INET
	MOVL $1, CX   // SOCK_STREAM
	MOVL $0, DX
	INT  $0x80
	MOVL AX, ret+0(FP)
	RET
